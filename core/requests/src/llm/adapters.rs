//! Adapters of peft: inputs of the model with a file for each adapter, or merged into the weights.

use std::path::Path;

use onnxport_core::WeightSet;
use onnxport_core::capture::{ADAPTER_HELP, Adapted, AdapterFolder, Changes, Decoder};
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::ir::{Constant, DefaultValue, Model};
use onnxport_core::tensor::{DType, LazyTensor, Transform};
use onnxport_core::write::NewFolder;

use super::{LlmRequest, LlmTarget, LlmType, onnx_adapter};
use crate::object::wrong;

/// The weights in a folder of peft.
const WEIGHTS: &str = "adapter_model.safetensors";

/// An adapter.
pub(super) struct Adapter<'a> {
    /// Its name; `None` if it is merged.
    name: Option<&'a str>,
    folder: &'a Path,
    weights: WeightSet,
}

/// Returns the names of the inputs of a module's matrices.
pub(super) fn inputs(module: &str) -> [String; 2] {
    ["A", "B"].map(|part| format!("{module}.lora_{part}"))
}

/// Returns the name of the file of an adapter.
fn file(name: &str) -> String {
    format!("{name}.onnx_adapter")
}

/// Fails unless adapters have names for files, and a runtime that swaps them.
///
/// # Errors
/// `OP001`.
pub(super) fn check(request: &LlmRequest) -> Result<(), Diagnostic> {
    let mut seen: Vec<String> = Vec::new();
    for adapter in &request.adapter {
        let name = &adapter.name;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if !name.chars().all(plain) || name.starts_with(['.', '-']) {
            let message = format!("`{name}` cannot be the name of an adapter's file");
            return Err(wrong(message).help("use letters, digits, `-`, `_` and `.`"));
        }
        // Some file systems take both cases for one.
        let lower = name.to_lowercase();
        if seen.contains(&lower) {
            return Err(wrong(format!("two adapters are called `{name}`")).help("give each its own name"));
        }
        seen.push(lower);
    }
    if request.target == LlmTarget::Onnx && !request.adapter.is_empty() {
        let message = "`adapter` writes files of ONNX Runtime, and the target onnx is any runtime";
        return Err(wrong(message.to_owned()).help("use `--merge-adapter`, or another target"));
    }
    Ok(())
}

/// Opens the adapters, those that are merged last.
///
/// # Errors
/// `OP656` for a folder without weights, and those of reading them.
pub(super) fn open<'a>(request: &'a LlmRequest) -> Result<Vec<Adapter<'a>>, Report> {
    let named = request.adapter.iter().map(|one| (Some(one.name.as_str()), one.path.as_path()));
    let merged = request.merge_adapter.iter().map(|path| (None, path.as_path()));
    let open = |(name, folder): (Option<&'a str>, &'a Path)| -> Result<Adapter<'a>, Report> {
        let path = folder.join(WEIGHTS);
        if !path.is_file() {
            return Err(refused(folder, &format!("there is no {WEIGHTS}"))
                .help("name a folder of peft, as `save_pretrained` writes it")
                .into());
        }
        let weights = WeightSet::open(&[path], None)?;
        let plain = [DType::F32, DType::F16, DType::BF16];
        let other = weights.names().find_map(|name| {
            let dtype = weights.get(name)?.dtype;
            (!plain.contains(&dtype)).then(|| format!("`{name}` has the type {dtype}"))
        });
        match other {
            Some(why) => Err(refused(folder, &why).help("save the adapter in f32, f16 or bf16").into()),
            None => Ok(Adapter { name, folder, weights }),
        }
    };
    named.chain(merged).map(open).collect()
}

impl Adapter<'_> {
    /// Returns the description for the capture.
    pub(super) fn described(&self) -> AdapterFolder {
        let shape = |name: &str| Some((name.to_owned(), self.weights.get(name)?.shape.clone()));
        AdapterFolder {
            folder: self.folder.to_owned(),
            stored: self.weights.names().filter_map(shape).collect(),
            merged: self.name.is_none(),
        }
    }

    /// Returns the tensors of the file, by input.
    fn parameters(&self, changes: &Changes, dtype: DType) -> Result<onnx_adapter::Parameters, Diagnostic> {
        let mut parameters = Vec::with_capacity(2 * changes.len());
        for (module, change) in changes {
            let pair = self.weights.low_rank(module, change.scale);
            let stored = |tensor: LazyTensor| match dtype {
                DType::F32 => Some(tensor),
                _ => tensor.then(Transform::Cast(dtype)),
            };
            let pair = pair.and_then(|[a, b]| Some([stored(a)?, stored(b)?]));
            parameters.extend(inputs(module).into_iter().zip(pair.ok_or_else(|| self.misfit(module))?));
        }
        Ok(parameters)
    }

    fn merge(&self, changes: &Changes, decoder: &Decoder, weights: &mut WeightSet) -> Result<(), Diagnostic> {
        for (module, change) in changes {
            let name = format!("{module}.weight");
            // A checkpoint without the head has names without the prefix.
            let short = name.strip_prefix(&decoder.prefix).and_then(|rest| rest.strip_prefix('.'));
            let stored =
                [Some(name.as_str()), short].into_iter().flatten().find(|n| weights.get(n).is_some());
            let added = stored.and_then(|stored| {
                let pair = self.weights.low_rank(module, change.scale)?;
                weights.add_low_rank(stored, &pair, change.transposed)?;
                let Some(magnitude) = &change.magnitude else { return Some(()) };
                weights.set_lengths(stored, self.weights.get(magnitude)?, change.transposed)
            });
            added.ok_or_else(|| self.misfit(module))?;
        }
        Ok(())
    }

    fn misfit(&self, module: &str) -> Diagnostic {
        let why = format!("its weights do not fit the weight of `{module}` in the checkpoint");
        refused(self.folder, &why).help(ADAPTER_HELP)
    }
}

/// Adds the adapters that are merged to the weights.
///
/// # Errors
/// `OP656` for a weight that the checkpoint does not have.
pub(super) fn merge(
    adapters: &[Adapter<'_>],
    adapted: &Adapted,
    decoder: &Decoder,
    weights: &mut WeightSet,
) -> Result<(), Diagnostic> {
    let merged = adapters.iter().zip(&adapted.changes).filter(|(adapter, _)| adapter.name.is_none());
    merged.into_iter().try_for_each(|(adapter, changes)| adapter.merge(changes, decoder, weights))
}

/// Lets inputs of adapters be left out: matrices of rank 0 change nothing.
pub(super) fn set_defaults(model: &mut Model, adapted: &Adapted) {
    let graph = &mut model.graph;
    let own = graph.blocks[graph.main()].inputs.clone();
    for module in &adapted.modules {
        let shapes = [vec![module.taken, 0], vec![0, module.made]];
        for (name, shape) in inputs(&module.module).into_iter().zip(shapes) {
            let is_own = |value: &&_| graph.values[**value].name.as_deref() == Some(name.as_str());
            let Some(value) = own.iter().find(is_own).copied() else { continue };
            let Some(dtype) = graph.values[value].ty.dtype() else { continue };
            let data = Constant::Dense(LazyTensor::inline(dtype, shape, Vec::new()));
            graph.defaults.push(DefaultValue { value, data });
        }
    }
}

/// Writes the files of adapters; returns their names.
///
/// # Errors
/// `OP601`, `OP656`.
pub(super) fn write(
    adapters: &[Adapter<'_>],
    adapted: &Adapted,
    decoder: &Decoder,
    folder: &NewFolder,
) -> Result<Vec<String>, Report> {
    let dtype = if decoder.dtype == LlmType::F16.name() { DType::F16 } else { DType::F32 };
    let mut files = Vec::new();
    for (adapter, changes) in adapters.iter().zip(&adapted.changes) {
        let Some(name) = adapter.name else { continue };
        let parameters = adapter.parameters(changes, dtype)?;
        folder.write_with(&file(name), |out| onnx_adapter::write(&parameters, out))?;
        files.push(file(name));
    }
    Ok(files)
}

fn refused(folder: &Path, why: &str) -> Diagnostic {
    Diagnostic::error(Code::CAPTURE_ADAPTER, format!("`{}`: {why}", folder.display()))
}
