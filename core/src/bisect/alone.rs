//! Computes a part of a model in isolation.

use std::path::PathBuf;
use std::time::Duration;

use crate::diagnose::{Code, Diagnostic};
use crate::ir::Model;
use crate::ops::{self, Elements, Limits, Tensor};
use crate::run::Computed;
use crate::taps::{ModelSide, unit};
use crate::verify::Runtime;
use crate::write::{self, ExternalData, WriteOptions};

/// The size of the perturbation of inputs, in units in the last place, that measures the effect of rounding.
const UNITS: f64 = 4.0;

/// The evaluator's budget for a suspect.
const LIMITS: Limits = Limits { bytes: 4 << 30, steps: 4_000_000_000, time: Duration::from_mins(1) };

/// A part of a model in a separate file, which is removed on drop.
pub(super) struct Part {
    /// The part.
    pub model: Model,
    folder: tempfile::TempDir,
}

impl Part {
    /// Writes the part to a temporary folder.
    pub(super) fn new(model: Model) -> Result<Self, Diagnostic> {
        let failed = |e: std::io::Error| {
            Diagnostic::error(Code::WRITE_IO, format!("cannot create a temporary folder: {e}"))
        };
        let folder = tempfile::Builder::new().prefix("onnxport-bisect-").tempdir().map_err(failed)?;
        let part = Self { model, folder };
        let options = WriteOptions { external_data: ExternalData::Auto, ..WriteOptions::default() };
        write::write(&part.model, &part.path(), &options).map_err(first)?;
        Ok(part)
    }

    /// The file.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("part.onnx")
    }

    /// Its only output, as `runtime` computes it.
    pub(super) fn run(&self, runtime: &Runtime, inputs: &[Computed]) -> Result<Computed, Diagnostic> {
        let outputs = self.model.output_names.clone();
        let side = ModelSide::new(runtime, &self.path(), inputs.to_vec(), outputs.clone());
        let names: Vec<&str> = outputs.iter().map(String::as_str).collect();
        let mut result = None;
        side.each(&names, &mut |value| result = Some(value))?;
        result.ok_or_else(|| Diagnostic::error(Code::VERIFY_EXECUTOR, "the runtime gave no output"))
    }

    /// Computes its only output with onnxport's evaluator; `None` if it cannot.
    pub(super) fn evaluate(&self, inputs: &[Computed]) -> Option<Computed> {
        let graph = &self.model.graph;
        let given = graph.blocks[graph.main()].inputs.iter().map(|id| {
            let name = graph.values[*id].name.as_deref();
            let input = inputs.iter().find(|input| Some(input.name.as_str()) == name)?;
            Some(tensor(input)?.into())
        });
        let results = ops::run(&self.model, given.collect(), LIMITS).ok()?;
        let result = results.first()?.tensor()?;
        Some(Computed {
            name: self.model.output_names.first()?.clone(),
            dtype: result.dtype(),
            shape: result.shape().iter().map(|d| *d as u64).collect(),
            bytes: result.to_packed().ok()?,
        })
    }
}

/// Returns the first error of a report: the other findings on a temporary file are of no interest to the user.
pub(super) fn first(report: crate::diagnose::Report) -> Diagnostic {
    let fallback = || Diagnostic::error(Code::INTERNAL, "a part of the model cannot be written");
    report.diagnostics.into_iter().next().unwrap_or_else(fallback)
}

/// The value as the evaluator has it.
pub(super) fn tensor(value: &Computed) -> Option<Tensor> {
    let shape = value.shape.iter().map(|d| usize::try_from(*d).ok()).collect::<Option<Vec<_>>>()?;
    Tensor::packed(value.dtype, shape, value.bytes.clone()).ok()
}

fn computed(name: &str, tensor: &Tensor) -> Option<Computed> {
    let shape = tensor.shape().iter().map(|d| *d as u64).collect();
    Some(Computed { name: name.to_owned(), dtype: tensor.dtype(), shape, bytes: tensor.to_packed().ok()? })
}

/// Returns the value with about every second element reduced by a few units in the last place; `None` if its type is
/// not rounded.
pub(super) fn shaken(value: &Computed) -> Option<Computed> {
    let u = unit(value.dtype);
    if u == 0.0 {
        return None;
    }
    let elements = tensor(value)?;
    let Elements::Float(items) = elements.elements() else { return None };
    let mut random = crate::random::Random::new(items.len() as u64);
    // Towards zero: values just inside the domain of a function stay there.
    let items = items
        .into_iter()
        .map(|x| if random.bits() >> 63 == 1 { x * (1.0 - 2.0 * UNITS * u) } else { x })
        .collect();
    let changed = Tensor::new(value.dtype, elements.shape().to_vec(), &Elements::Float(items)).ok()?;
    computed(&value.name, &changed)
}

/// Returns the value with another name, and converted to another element type if one is stated; `None` if that is
/// impossible.
pub(super) fn converted(
    value: &Computed,
    name: &str,
    dtype: Option<crate::tensor::DType>,
) -> Option<Computed> {
    let dtype = dtype.unwrap_or(value.dtype);
    if dtype == value.dtype {
        return Some(Computed { name: name.to_owned(), ..value.clone() });
    }
    let from = tensor(value)?;
    let numbers = match from.elements() {
        Elements::Bool(items) => items.into_iter().map(|b| f64::from(u8::from(b))).collect(),
        Elements::Int(items) => items.into_iter().map(|n| n as f64).collect(),
        Elements::Float(items) => items,
        Elements::Complex(_) | Elements::Text(_) => return None,
    };
    computed(name, &Tensor::of_numbers(dtype, from.shape().to_vec(), numbers).ok()?)
}
