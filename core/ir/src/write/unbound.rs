//! Models with unbound weights.
//!
//! An unbound initializer states a data file that does not exist, so that no runtime loads the model and computes
//! with other values. The metadata names the tensor of the program.

use rustc_hash::FxHashMap;

use super::WriteOptions;
use super::plan::{Destination, Plan, Weight};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::onnx::UnboundEntry;
use crate::table::{grouped, type_of};
use crate::tensor::{LazyTensor, Source, Unbound};

/// Fails when a weight has no bytes and the model is not to wait for any, or the weight is to be cast,
/// quantised or otherwise changed first.
///
/// # Errors
/// `OP630` that names all of them.
pub(super) fn check(weights: &[Weight<'_>], options: &WriteOptions) -> Result<(), Report> {
    let waiting = weights.iter().filter(|w| w.is_written && is_unbound(w.data));
    // Pending transforms would be lost in a model with unbound weights.
    let changed = |data: &LazyTensor| match &data.source {
        Source::Unbound(unbound) => {
            let own = Unbound::clone(unbound).into_tensor();
            let own = if own.dtype.is_complex() { own.pairs() } else { own };
            (own.dtype, own.shape, own.offset, own.strides)
                != (data.dtype, data.shape.clone(), data.offset, data.strides.clone())
        }
        _ => true,
    };
    let refused = waiting.filter(|w| !options.weightless || changed(w.data));
    let names = refused.map(|w| (w.name.to_owned(), type_of(w.data))).collect();
    match lacking("model", names) {
        Some(diagnostic) => Err(diagnostic.help("give their files with `--weights`").into()),
        None => Ok(()),
    }
}

/// Returns the error that lists the unbound tensors of `what`, each with its type; `None` if there are none.
pub fn lacking(what: &str, names: Vec<(String, String)>) -> Option<Diagnostic> {
    if names.is_empty() {
        return None;
    }
    let message = format!("the {what} has no data for {} of its tensors", names.len());
    let mut diagnostic = Diagnostic::error(Code::WEIGHTS_MISSING, message);
    diagnostic.notes = grouped(names);
    Some(diagnostic)
}

/// A tensor without elements needs no bytes.
fn is_unbound(data: &LazyTensor) -> bool {
    data.unbound().is_some() && data.byte_len() != Some(0)
}

/// The entries of the metadata.
pub(super) fn entries(weights: &[Weight<'_>], plan: &Plan) -> Vec<UnboundEntry> {
    let mut seen: FxHashMap<u64, Vec<&Weight<'_>>> = FxHashMap::default();
    let mut entries = Vec::new();
    for (weight, place) in weights.iter().zip(&plan.places) {
        let (Some(unbound), Destination::Unbound(_)) = (weight.data.unbound(), place) else { continue };
        let alike = seen.entry(weight.data.fingerprint()).or_default();
        let tied = alike.iter().find(|other| other.data.same_bytes(weight.data));
        entries.push(UnboundEntry {
            initializer: weight.name.to_owned(),
            name: unbound.name.clone(),
            dtype: unbound.dtype.to_string(),
            shape: unbound.shape.clone(),
            tied: tied.map(|other| other.name.to_owned()),
        });
        if tied.is_none() {
            alike.push(weight);
        }
    }
    entries
}
