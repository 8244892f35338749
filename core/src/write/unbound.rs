//! Models that wait for their weights.
//!
//! An initializer without bytes states a data file that does not exist, so that no runtime loads the
//! model and computes with something else. The metadata says which tensor of the program it is.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::WriteOptions;
use super::plan::{Place, Plan, Weight};
use crate::diagnose::Report;
use crate::tensor::{LazyTensor, Source, Unbound};
use crate::weights;

/// The data file that an initializer without bytes states. Runtimes show it in the error of a file that
/// is missing.
pub const UNBOUND_LOCATION: &str = "weights-are-missing--run--onnxport-weights-bind";

/// An initializer without bytes, as the metadata of a model describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnboundEntry {
    /// The name of the initializer.
    pub initializer: String,
    /// The fully qualified name of the tensor in the program.
    pub name: String,
    /// Its element type in the program; complex tensors are pairs of reals in the model.
    pub dtype: String,
    /// Its extents in the program, outermost first.
    pub shape: Vec<u64>,
    /// The initializer before it that shows the same elements of the same memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tied: Option<String>,
}

/// Fails when a weight has no bytes and the model is not to wait for any, or the weight is to be cast,
/// quantised or otherwise changed first.
///
/// # Errors
/// `OP630` that names all of them.
pub(super) fn check(weights: &[Weight<'_>], options: &WriteOptions) -> Result<(), Report> {
    let waiting = weights.iter().filter(|w| w.is_written && is_unbound(w.data));
    // What was to be done to the bytes would be lost with the model that waits for them.
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
    let lacking = refused.map(|w| (w.name.to_owned(), w.data));
    match weights::lacking_weights(lacking) {
        Some(diagnostic) => Err(diagnostic.help("give their files with `--weights`").into()),
        None => Ok(()),
    }
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
        let (Some(unbound), Place::Unbound(_)) = (weight.data.unbound(), place) else { continue };
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
