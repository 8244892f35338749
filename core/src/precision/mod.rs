//! Stores weights with fewer bits.
//!
//! The computation keeps its types: a weight that is stored in a lower type goes through a `Cast`, a quantised one
//! through `DequantizeLinear`, right where the initializer is read, so that a runtime can fuse it with the product.
//! Only `MatMulNBits` replaces the product, and of a weight that is looked up only the selected rows are dequantised.
//! No weight is held in memory: each change of its bytes is a transform of its
//! [`LazyTensor`](crate::tensor::LazyTensor), and the writer streams.

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
mod transposed;

#[cfg(test)]
mod tests;

pub use scheme::{Block, Form, Scheme};

pub use crate::weights::QuantiserName;
use kept::KeptWeights;
use select::Choice;
pub use select::Patterns;

use crate::diagnose::{Code, Diagnostic, Report, Severity};
use crate::host::Host;
use crate::ir::Model;
use crate::tensor::DType;
use crate::tidy;

/// The user's options for the stored form of weights.
#[derive(Clone, Debug, Default)]
pub struct PrecisionOptions {
    /// The type in which parameters and buffers of a wider floating-point type are stored. Those with
    /// fewer than two axes stay: scales of norms and biases are small, and much depends on them.
    pub dtype: Option<DType>,
    /// Weights whose type stays in any case.
    pub keep: Patterns,
    /// The treatment of a weight that has values beyond the range of [`dtype`](Self::dtype).
    pub overflow: Overflow,
    /// How weights are quantised, if at all.
    pub quantise: Option<Scheme>,
    /// The weights to quantise; without patterns only those that products (`MatMul`, `Gemm`) take.
    pub quantise_only: Patterns,
    /// Weights that must not be quantised.
    pub quantise_skip: Patterns,
    /// Transforms of plugins, in order. They run first.
    pub transforms: Vec<PluginTransform>,
    /// A pattern may match nothing, which is a warning: it is meant for another program.
    pub several: bool,
}

/// A transform of a plugin, and the weights to apply it to.
#[derive(Clone, Debug)]
pub struct PluginTransform {
    /// The id of the plugin.
    pub plugin: String,
    /// The name of the transform.
    pub name: String,
    /// The weights.
    pub only: Patterns,
}

/// The treatment of a weight that has values beyond the range of the type that it is to be stored in.
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

/// The changes to weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// The number of weights stored in a lower type.
    pub narrowed: usize,
    /// The number of quantised weights.
    pub quantised: usize,
    /// The number of weights that a plugin transformed.
    pub foreign: usize,
    /// The original size of all of these in bytes.
    pub bytes_before: u64,
    /// Their new size in bytes.
    pub bytes_after: u64,
}

impl Changed {
    /// Returns the metadata of the model about it: the number of weights by the kind of change.
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

/// Checks that every pattern of `options` matches a weight of `model`, before rules transform them. For one model of
/// several, mismatches are warnings.
///
/// # Errors
/// `OP663` if a pattern matches none.
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

/// Stores the weights of `model` as `options` say. Weights are quantised first; the others take the lower type. Last,
/// if `transpose` is set, weights that products read through a transpose are stored transposed. [`known`] reports patterns
/// that match nothing.
///
/// # Errors
/// `OP660` if values do not fit, `OP662` if the opset or the form lacks a requested feature, and errors of reading
/// a weight.
pub fn apply(
    host: &Host,
    model: &mut Model,
    options: &PrecisionOptions,
    transpose: bool,
) -> Result<(Changed, Vec<Diagnostic>), Report> {
    let mut changed = Changed::default();
    let mut notes = Vec::new();
    if options.is_empty() && !transpose {
        return Ok((changed, notes));
    }
    let mut report = Report::default();
    for transform in &options.transforms {
        foreign::apply(host, model, transform, &mut changed, &mut report.diagnostics);
    }
    if let Some(scheme) = &options.quantise {
        let mut choice = Choice::from_options(options);
        let mut kept = KeptWeights::default();
        stacks::apply(model, scheme.form, &mut choice, &mut kept);
        packed::apply(model, scheme, &mut choice);
        // Removes the initializers that the joined ones replaced.
        tidy::tidy(&mut model.graph);
        let problems = &mut report.diagnostics;
        notes.extend(quantise::apply(host, model, scheme, &choice, kept, &mut changed, problems));
    }
    if let Some(dtype) = options.dtype {
        narrow::apply(model, options, dtype, &mut changed, &mut notes, &mut report.diagnostics);
    }
    if transpose {
        let opset = model.opset();
        transposed::apply(&mut model.graph, opset);
    }
    if !report.diagnostics.is_empty() {
        report.origins = model.origins.clone();
        return Err(report);
    }
    tidy::tidy(&mut model.graph);
    Ok((changed, notes))
}
