//! `pass/1`: a plugin edits the whole graph.
//!
//! A pass reads through `graph/1` and edits through [`PassHost`], in a transaction: when it returns, the host
//! checks the graph against the rules of ONNX and the types that the program states. It rolls all edits back if
//! the graph is not valid, or if the pass refused or panicked.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

use crate::graph::AttributeView;
use crate::graph::GraphContext;
use crate::graph::NewNode;
use crate::lowering::TypeRecord;
use crate::rules::ClassRecord;
use crate::{RSlice, RSliceMut, RStr, Table};
use abi_stable::StableAbi;

/// The name of the interface.
pub const INTERFACE: &str = "pass/1";

/// The revision of the contract that brought the interface.
pub const SINCE: crate::Version = crate::Version { major: 1, minor: 0 };

/// The functions and data that the plugin provides.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct PassTable {
    /// The passes.
    pub passes: RSlice<'static, PassRecord>,
    /// Runs the pass at `index`. `host` and `graph` are the envelopes of [`PassHost`] and `GraphHost`.
    /// Called on the thread of the conversion. Returns a [`status`](crate::status).
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the conversion.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub run: extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32,
    /// States how exact the pass at `index` is. Without this function a pass is one of class `UNSTATED`. `INVALID`
    /// for an unknown index.
    ///
    /// - Since contract 1.0; `None` where it is not provided.
    /// - Thread: the one of the conversion.
    /// - Takes: nothing borrowed.
    /// - Gives: the value stays valid for the rest of the process.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub class_of: Option<extern "C" fn(index: u32, out: &mut ClassRecord) -> u32>,
}

crate::table::interface!(PassTable, INTERFACE, base: 2);

/// A pass.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct PassRecord {
    /// The name, unique in the plugin: `conv_to_matmul`.
    pub name: RStr<'static>,
    /// Its effect, in a line.
    pub documentation: RStr<'static>,
    /// The lowest version of ONNX's own operator set that it knows.
    pub min_opset: u32,
    /// The highest.
    pub max_opset: u32,
    /// Among several passes the highest priority runs first.
    pub priority: i32,
    /// One of [`when`].
    pub when: u32,
    /// The further domains that it needs; it does not run on a model that imports one of them at
    /// another version. The model need not import them.
    pub domains: RSlice<'static, DomainRecord>,
}

/// When a pass runs.
pub mod when {
    /// Before the rules, which then simplify its results.
    pub const BEFORE_RULES: u32 = 0;
    /// After the rules.
    pub const AFTER_RULES: u32 = 1;
}

/// A domain and the versions of its operator set that a pass knows.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct DomainRecord {
    /// The domain.
    pub domain: RStr<'static>,
    /// The lowest version.
    pub min: u32,
    /// The highest version.
    pub max: u32,
}

/// Where nodes are added, relative to a node.
pub mod place {
    /// Before it, in the order in which they are added.
    pub const BEFORE: u32 = 0;
    /// After it, in the order in which they are added.
    pub const AFTER: u32 = 1;
}

/// Functions of the host for a pass. Used on the thread of the call and only until it returns. All
/// functions that return a number return a [`status`](crate::status).
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct PassHost {
    /// Sets the position of nodes that are added from now on: one of [`place`], relative to `node`, whose origin
    /// they get. Initially there is no position.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub place: extern "C" fn(cx: GraphContext, node: u64, place: u32) -> u32,
    /// Adds a node and stores the ids of its outputs; the number of outputs is the slice's length.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub emit: extern "C" fn(cx: GraphContext, node: &NewNode<'_>, outputs: RSliceMut<'_, u64>) -> u32,
    /// Adds an initializer of little-endian, row-major `bytes` and stores its id.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub constant: extern "C" fn(
        cx: GraphContext,
        dtype: i32,
        dims: RSlice<'_, u64>,
        bytes: RSlice<'_, u8>,
        out: &mut u64,
    ) -> u32,
    /// Adds an initializer that shows the bytes of another one with its axes in the order `axes`, then
    /// with the extents `dims`, and stores its id. Nothing is copied before the model is written.
    /// `REFUSED` when such a view would need a copy.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID), [`REFUSED`](crate::status::REFUSED).
    pub view: extern "C" fn(
        cx: GraphContext,
        initializer: u64,
        axes: RSlice<'_, u32>,
        dims: RSlice<'_, u64>,
        out: &mut u64,
    ) -> u32,
    /// States the type of a value that the pass added and the host could not infer.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub set_type: extern "C" fn(cx: GraphContext, value: u64, ty: &TypeRecord<'_>) -> u32,
    /// Replaces all uses of `old`, including outputs of blocks, with `new`; only the node that computes `new` goes
    /// on reading `old`. If `new` has no name, it gets the name of `old`, if a node computes that.
    /// `REFUSED` if their types are incompatible.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID), [`REFUSED`](crate::status::REFUSED).
    pub replace_uses: extern "C" fn(cx: GraphContext, old: u64, new: u64) -> u32,
    /// Makes input `index` of a node read `value`; `NOTHING` leaves an optional one out.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub set_input: extern "C" fn(cx: GraphContext, node: u64, index: u32, value: u64) -> u32,
    /// Sets an attribute; one of kind `NONE` is removed. Blocks cannot be set.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub set_attribute: extern "C" fn(cx: GraphContext, node: u64, attribute: &AttributeView<'_>) -> u32,
    /// Removes a node. `REFUSED` when one of its outputs is still read.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID), [`REFUSED`](crate::status::REFUSED).
    pub remove: extern "C" fn(cx: GraphContext, node: u64) -> u32,
    /// Adds a note for the user about an edit, or a node that the pass does not change; shown with `--explain-rule`.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub note: extern "C" fn(cx: GraphContext, node: u64, message: RStr<'_>) -> u32,
    /// Reports why the pass does not apply to this graph; all its edits are rolled back. `code` is empty for the
    /// host's own code.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Cannot fail.
    pub refuse: extern "C" fn(cx: GraphContext, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>),
}

crate::table::interface!(PassHost, INTERFACE, base: 11);
