//! The host's side of `graph/1`: how plugins read a graph.
//!
//! Every call of a plugin opens an [`Access`] with its own epoch. Ids that cross carry the epoch and the
//! kind of their object, so that an id from an earlier call, of another kind or of a removed object is
//! invalid.

mod callbacks;
mod derive;
mod id;
mod read;

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::ThreadId;

use onnxport_abi::graph::{GraphContext, UseRecord};
use onnxport_abi::lowering::DimRecord;
use onnxport_abi::status;
use rustc_hash::FxHashMap;

pub(crate) use callbacks::{attribute_view, dim_record, host_table};
pub(crate) use id::Epoch;

use crate::ir::{Attribute, BlockId, Def, Model, NodeId, ValueId};
use onnxport_abi::RStr;

/// The model that a plugin reads, and whether the interface it was called through may change it.
enum Held<'m> {
    Shared(&'m Model),
    Exclusive(&'m mut Model),
}

/// A model in the hands of a plugin, for one call.
pub(crate) struct Access<'m> {
    /// The thread of the call, the only one that may use it.
    thread: ThreadId,
    held: Held<'m>,
    pub(crate) epoch: Epoch,
    scratch: Scratch,
    /// Whether parameters and buffers must not be changed, because their bytes are supplied separately.
    separate: bool,
    /// Whether a requested weight was refused for this reason.
    kept: bool,
}

/// Storage for one answer of the host.
#[derive(Default)]
struct Scratch {
    ids: [Vec<u64>; 3],
    names: Vec<RStr<'static>>,
    uses: Vec<UseRecord>,
    dims: Vec<DimRecord>,
    extents: Vec<u64>,
    bytes: Vec<u8>,
    text: String,
    /// An attribute that the node does not state.
    default: Option<Attribute>,
    /// The numbers of the storages of initializers, computed on first use.
    storages: Option<FxHashMap<ValueId, u64>>,
}

impl<'m> Access<'m> {
    /// Lends `model` for reading.
    pub(crate) fn read(model: &'m Model) -> Self {
        Self::new(Held::Shared(model))
    }

    /// Lends `model` to an interface that edits it.
    pub(crate) fn edit(model: &'m mut Model) -> Self {
        Self::new(Held::Exclusive(model))
    }

    fn new(held: Held<'m>) -> Self {
        let thread = std::thread::current().id();
        Self { thread, held, epoch: Epoch::next(), scratch: Scratch::default(), separate: false, kept: false }
    }

    /// Sets whether deriving initializers from weights is forbidden.
    pub(crate) fn separate(self, separate: bool) -> Self {
        Self { separate, ..self }
    }

    /// Whether nothing may be derived from the initializer `value`, because its bytes are supplied separately or are
    /// still missing. Records that it was requested.
    pub(crate) fn keeps(&mut self, value: ValueId) -> bool {
        let graph = &self.model().graph;
        let waits = graph.initializer(value).is_some_and(|data| data.unbound().is_some());
        let keeps = waits || self.separate && graph.is_weight(value);
        self.kept |= keeps;
        keeps
    }

    /// Whether [`Self::keeps`] was true of a value.
    pub(crate) fn has_kept(&self) -> bool {
        self.kept
    }

    /// The model.
    pub(crate) fn model(&self) -> &Model {
        match &self.held {
            Held::Shared(model) => model,
            Held::Exclusive(model) => model,
        }
    }

    /// Returns the model for edits; `None` if it was lent for reading. Invalidates the cached storages of
    /// initializers.
    pub(crate) fn model_mut(&mut self) -> Option<&mut Model> {
        self.scratch.storages = None;
        match &mut self.held {
            Held::Shared(_) => None,
            Held::Exclusive(model) => Some(model),
        }
    }

    /// Returns the value that `id` names in this call.
    pub(crate) fn value(&self, id: u64) -> Option<ValueId> {
        let value = self.model().graph.values.check(self.epoch.open(id, id::Kind::Value)?)?;
        (self.model().graph.values[value].def != Def::Gone).then_some(value)
    }

    /// Returns the node that `id` names in this call.
    pub(crate) fn node(&self, id: u64) -> Option<NodeId> {
        let node = self.model().graph.nodes.check(self.epoch.open(id, id::Kind::Node)?)?;
        self.model().graph.nodes[node].block.is_some().then_some(node)
    }

    /// Returns the block that `id` names in this call.
    pub(crate) fn block(&self, id: u64) -> Option<BlockId> {
        self.model().graph.blocks.check(self.epoch.open(id, id::Kind::Block)?)
    }
}

/// The target of a [`GraphContext`]: the access, then the interface's own state for the call. The functions
/// of `graph/1` see the access only.
#[repr(C)]
pub(crate) struct Frame<'m, S> {
    pub(crate) access: Access<'m>,
    pub(crate) state: S,
}

impl<'m, S> Frame<'m, S> {
    /// A call over `access`.
    pub(crate) fn new(access: Access<'m>, state: S) -> Self {
        Self { access, state }
    }

    /// The context to call the plugin with.
    pub(crate) fn context(&mut self) -> GraphContext {
        GraphContext(std::ptr::from_mut(self).cast())
    }
}

/// Runs `body` with the frame behind `cx`. A host panic must not cross the boundary.
///
/// # Safety
/// The host made the context from a live [`Frame`] with a state of type `S`, which nothing else uses
/// until the plugin returns.
pub(crate) unsafe fn with_frame<'m, S: 'm>(
    cx: GraphContext,
    body: impl FnOnce(&mut Frame<'m, S>) -> Option<()>,
) -> u32 {
    guard(cx, || {
        // SAFETY: the caller's; this is the thread of the call, on which plugins call back one call at a
        // time.
        body(unsafe { cx.0.cast::<Frame<'m, S>>().as_mut() }?)
    })
}

/// Runs `body` with the access behind `cx`.
fn with<'m>(cx: GraphContext, body: impl FnOnce(&mut Access<'m>) -> Option<()>) -> u32 {
    guard(cx, || {
        // SAFETY: the host made the context from a live frame, which starts with its access and which
        // nothing else uses until the plugin returns; this is the thread of the call.
        body(unsafe { cx.0.cast::<Access<'m>>().as_mut() }?)
    })
}

/// Runs `body` on the thread of the call behind `cx` only.
fn guard(cx: GraphContext, body: impl FnOnce() -> Option<()>) -> u32 {
    let run = || {
        // SAFETY: the host made the context from a live frame, which starts with its access; the thread in
        // there never changes.
        let thread = unsafe { cx.0.cast::<Access<'_>>().as_ref() }.map(|access| access.thread)?;
        if thread == std::thread::current().id() { body() } else { None }
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Some(())) => status::OK,
        Ok(None) | Err(_) => status::INVALID,
    }
}
