//! Storing weights with fewer bits.
//!
//! The computation keeps its types: a weight that is stored in a lower type goes through a `Cast`, a
//! quantised one through `DequantizeLinear`, right where the initializer is read, so that a runtime can
//! fuse it with the product. Only `MatMulNBits` takes the place of one, and rows that are looked up are restored
//! by themselves. No weight is held in memory: what happens to its bytes is a transform of its [`LazyTensor`](crate::tensor::LazyTensor), and the writer streams.

mod dequantize;
mod edit;
mod foreign;
mod kept;
mod lookup;
mod narrow;
mod nbits;
mod packed;
mod probe;
mod quantise;
mod readers;
mod scheme;
mod select;
mod stacks;
mod turned;

#[cfg(test)]
mod tests;

pub use scheme::{Block, Form, Scheme};

pub use crate::weights::QuantiserName;
use kept::Kept;
use select::Choice;
pub use select::Patterns;

use crate::diagnose::{Code, Diagnostic, Report, Severity};
use crate::host::Host;
use crate::ir::Model;
use crate::tensor::DType;
use crate::tidy;

/// What is to happen to weights.
#[derive(Clone, Debug, Default)]
pub struct PrecisionOptions {
    /// The type in which parameters and buffers of a wider floating-point type are stored. Those with
    /// fewer than two axes stay: scales of norms and biases are small, and much depends on them.
    pub dtype: Option<DType>,
    /// Weights whose type stays besides.
    pub keep: Patterns,
    /// What happens to a weight that has values beyond the range of [`dtype`](Self::dtype).
    pub overflow: Overflow,
    /// How weights are quantised, if they are.
    pub quantise: Option<Scheme>,
    /// The weights to quantise; without patterns those that products (`MatMul`, `Gemm`) take, and
    /// nothing else.
    pub quantise_only: Patterns,
    /// Weights that are not quantised.
    pub quantise_skip: Patterns,
    /// Transforms of plugins, in order. They come before everything else.
    pub transforms: Vec<PluginTransform>,
    /// A pattern may match nothing, which is a warning: it is meant for another program.
    pub several: bool,
}

/// A transform of a plugin, and the weights that it changes.
#[derive(Clone, Debug)]
pub struct PluginTransform {
    /// The id of the plugin.
    pub plugin: String,
    /// The name of the transform.
    pub name: String,
    /// The weights.
    pub only: Patterns,
}

/// What happens to a weight that has values beyond the range of the type that it is to be stored in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The conversion fails.
    #[default]
    Refuse,
    /// The weight keeps its type, which is reported.
    Keep,
    /// The values become infinite, or the largest of an 8-bit type, which is reported.
    Allow,
}

/// What happened to weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Weights that are stored in a lower type.
    pub narrowed: usize,
    /// Weights that are quantised.
    pub quantised: usize,
    /// Weights that a plugin changes.
    pub foreign: usize,
    /// The bytes of all of these, as they were.
    pub bytes_before: u64,
    /// The bytes that take their place.
    pub bytes_after: u64,
}

impl Changed {
    /// What the metadata of the model says about it: how many weights, by what happened to them.
    pub(crate) fn to_json(self) -> String {
        let Self { narrowed, quantised, foreign, .. } = self;
        serde_json::json!({ "lower_type": narrowed, "quantised": quantised, "by_plugins": foreign })
            .to_string()
    }
}

impl PrecisionOptions {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.dtype.is_none() && self.quantise.is_none() && self.transforms.is_empty()
    }
}

/// Asks whether every pattern of `options` matches a weight of `model`, before rules make others of them. A model of
/// several has warnings.
///
/// # Errors
/// `OP663` when a pattern matches none.
pub fn known(model: &Model, options: &PrecisionOptions) -> Result<Vec<Diagnostic>, Report> {
    let unmatched = [&options.keep, &options.quantise_only, &options.quantise_skip]
        .into_iter()
        .chain(options.transforms.iter().map(|transform| &transform.only))
        .flat_map(|patterns| patterns.unmatched(model))
        .map(|pattern| {
            let message = format!("`{pattern}` matches no weight of the model");
            let help = "`onnxport convert MODEL --emit ir` shows the names";
            Diagnostic::error(Code::WEIGHT_PATTERN, message).help(help)
        });
    if options.several {
        return Ok(unmatched.map(|d| Diagnostic { severity: Severity::Warning, ..d }).collect());
    }
    let diagnostics: Vec<Diagnostic> = unmatched.collect();
    if diagnostics.is_empty() {
        return Ok(diagnostics);
    }
    Err(Report { diagnostics, origins: model.origins.clone() })
}

/// Stores the weights of `model` as `options` say. Quantised weights come first; what is left takes the
/// lower type. Last, if `turn` is set, weights that products read through a transpose are stored transposed. A pattern that
/// matches nothing is for [`known`].
///
/// # Errors
/// `OP660` when values do not fit, `OP662` when the opset or the form lacks what is asked for, and whatever
/// reading a weight brings.
pub fn apply(
    host: &Host,
    model: &mut Model,
    options: &PrecisionOptions,
    turn: bool,
) -> Result<(Changed, Vec<Diagnostic>), Report> {
    let mut changed = Changed::default();
    let mut notes = Vec::new();
    if options.is_empty() && !turn {
        return Ok((changed, notes));
    }
    let mut report = Report::default();
    for transform in &options.transforms {
        foreign::apply(host, model, transform, &mut changed, &mut report.diagnostics);
    }
    if let Some(scheme) = &options.quantise {
        let mut choice = Choice::of(options);
        let mut kept = Kept::default();
        stacks::apply(model, scheme.form, &mut choice, &mut kept);
        packed::apply(model, scheme, &mut choice);
        // What others were made of is not there any more.
        tidy::tidy(&mut model.graph);
        let problems = &mut report.diagnostics;
        notes.extend(quantise::apply(host, model, scheme, &choice, kept, &mut changed, problems));
    }
    if let Some(dtype) = options.dtype {
        narrow::apply(model, options, dtype, &mut changed, &mut notes, &mut report.diagnostics);
    }
    if turn {
        turned::apply(&mut model.graph);
    }
    if !report.diagnostics.is_empty() {
        report.origins = model.origins.clone();
        return Err(report);
    }
    tidy::tidy(&mut model.graph);
    Ok((changed, notes))
}
