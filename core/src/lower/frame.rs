//! One call of a plugin: the records that the plugin reads, and its answers.

use std::thread::ThreadId;

use indexmap::IndexMap;
use onnxport_abi::lowering::{ArgRecord, DimRecord, TypeRecord, arg_kind};
use rustc_hash::FxBuildHasher;

use super::driver::Driver;
use crate::diagnose::Diagnostic;
use crate::ir::{BlockId, Graph, ValueId};
use crate::program::Subgraph;

/// Everything behind the context of a call. The records borrow from the frame itself and from the program;
/// neither moves while the plugin runs.
pub(super) struct Frame<'p> {
    /// The thread of the conversion, the only one that may call back.
    pub(super) thread: ThreadId,
    /// The driver, for the time of the call.
    pub(super) driver: *mut Driver<'p>,
    /// The operator.
    pub(super) target: &'p str,
    /// The arguments in schema order.
    pub(super) args: Vec<ArgRecord<'p>>,
    /// The elements of all lists.
    pub(super) elements: Vec<ArgRecord<'p>>,
    /// The sizes that `results` refer to.
    pub(super) dims: Vec<Vec<DimRecord>>,
    /// The stated types of the results.
    pub(super) results: Vec<TypeRecord<'p>>,
    /// The nested graphs among the arguments.
    pub(super) graphs: Vec<&'p Subgraph>,
    /// The ids that the plugin may use.
    pub(super) told: Told,
    /// Records handed out by the last answer.
    pub(super) scratch: Scratch,
    /// The results that the plugin set.
    pub(super) answer: Option<Vec<Option<ValueId>>>,
    /// The problem that the host found with a request of the plugin.
    pub(super) problem: Option<Box<Diagnostic>>,
    /// Why the plugin refused.
    pub(super) refusal: Option<Refusal>,
}

/// The ids of the graph that the plugin received during the call. An id that it kept from another call is not
/// among them, so that it cannot name an unrelated value by chance.
///
/// The body of a function is a separate graph, and its values have ids that nothing else in the call has: an
/// outside value cannot name an inside one, nor the reverse.
#[derive(Default)]
pub(super) struct Told {
    values: IndexMap<u32, ValueId, FxBuildHasher>,
    /// The open blocks, each with the number of values known before.
    open: Vec<(BlockId, usize)>,
    /// The blocks that it ended but has not used yet.
    ended: Vec<(u32, BlockId)>,
    /// The enclosing state, inside the body of a function.
    outside: Option<Box<Told>>,
    /// The number of ids issued inside functions.
    given: u32,
}

/// The first id inside a function; those of the model's own graph are smaller.
const FIRST_INSIDE: u32 = 1 << 31;

impl Told {
    /// Notes the values among `records`.
    pub(super) fn args(&mut self, records: &[ArgRecord<'_>]) {
        let values = [arg_kind::TENSOR, arg_kind::SYM_INT, arg_kind::SYM_FLOAT, arg_kind::SYM_BOOL];
        let values = records.iter().filter(|r| values.contains(&r.kind));
        self.values.extend(values.map(|r| (r.value, ValueId::new(r.value))));
    }

    /// The id of `value` for the plugin.
    pub(super) fn tell(&mut self, value: ValueId) -> u32 {
        let raw = self.id(value.raw());
        self.values.insert(raw, value);
        raw
    }

    /// Returns the value that the plugin names.
    pub(super) fn value(&self, raw: u32) -> Option<ValueId> {
        self.values.get(&raw).copied()
    }

    /// Returns the plugin's id for the value or block `raw` of the graph that it builds.
    fn id(&mut self, raw: u32) -> u32 {
        if self.outside.is_none() {
            return raw;
        }
        self.given += 1;
        FIRST_INSIDE | (self.given - 1)
    }

    /// Records the start of a block.
    pub(super) fn begin(&mut self, block: BlockId) {
        self.open.push((block, self.values.len()));
    }

    /// Ends `block` if it is the innermost one that the plugin began, and returns its id; its values are no
    /// longer visible, except constants.
    pub(super) fn end(&mut self, block: BlockId, graph: &Graph) -> Option<u32> {
        let (_, known) = self.open.pop_if(|(open, _)| *open == block)?;
        let inner = self.values.split_off(known);
        self.values.extend(inner.into_iter().filter(|(_, value)| graph.initializer(*value).is_some()));
        let raw = self.id(block.raw());
        self.ended.push((raw, block));
        Some(raw)
    }

    /// Returns the ended block that the plugin names; it can be used once.
    pub(super) fn block(&mut self, raw: u32) -> Option<BlockId> {
        let at = self.ended.iter().position(|(id, _)| *id == raw)?;
        Some(self.ended.swap_remove(at).1)
    }

    /// Records the start of a function's body.
    pub(super) fn enter(&mut self) {
        let outside = std::mem::take(self);
        self.given = outside.given;
        self.outside = Some(Box::new(outside));
    }

    /// Records its end.
    pub(super) fn leave(&mut self) {
        if let Some(outside) = self.outside.take() {
            let given = self.given;
            *self = *outside;
            self.given = given;
        }
    }
}

/// Storage for one answer of the host.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) dims: Vec<DimRecord>,
    pub(super) nested: Vec<Vec<DimRecord>>,
    pub(super) inputs: Vec<TypeRecord<'static>>,
    pub(super) outputs: Vec<TypeRecord<'static>>,
    pub(super) extents: Vec<u64>,
    pub(super) bytes: Vec<u8>,
    pub(super) ids: Vec<u32>,
}

/// A plugin's reason.
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) help: String,
}
