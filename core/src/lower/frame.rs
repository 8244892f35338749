//! One call on its way through a plugin: the records that the plugin reads, and what it answers.

use onnxport_abi::lowering::{ArgRecord, DimRecord, TypeRecord};

use super::driver::Driver;
use crate::ir::ValueId;
use crate::program::Subgraph;

/// Everything behind the context of a call. The records borrow from the frame itself and from the
/// program; neither moves while the plugin runs.
pub(super) struct Frame<'p> {
    /// The driver, for the time of the call.
    pub(super) driver: *mut Driver<'p>,
    /// The operator.
    pub(super) target: &'p str,
    /// The arguments in schema order.
    pub(super) args: Vec<ArgRecord<'p>>,
    /// The elements of all lists.
    pub(super) elements: Vec<ArgRecord<'p>>,
    /// The extents that `results` refer to.
    pub(super) dims: Vec<Vec<DimRecord>>,
    /// What the program states about the results.
    pub(super) results: Vec<TypeRecord<'p>>,
    /// The nested graphs among the arguments.
    pub(super) graphs: Vec<&'p Subgraph>,
    /// Records handed out by the last answer.
    pub(super) scratch: Scratch,
    /// The results that the plugin set.
    pub(super) answer: Option<Vec<Option<ValueId>>>,
    /// Why the plugin refused.
    pub(super) refusal: Option<Refusal>,
}

/// Storage for what one answer of the host refers to.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) dims: Vec<DimRecord>,
    pub(super) nested: Vec<Vec<DimRecord>>,
    pub(super) inputs: Vec<TypeRecord<'static>>,
    pub(super) outputs: Vec<TypeRecord<'static>>,
    pub(super) extents: Vec<u64>,
    pub(super) bytes: Vec<u8>,
}

/// A plugin's reason.
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) help: String,
}
