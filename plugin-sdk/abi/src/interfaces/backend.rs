//! `backend/1`: a plugin takes parts of a model for hardware.
//!
//! A backend states as data what it can take ([`BackendEntry`]). The host holds every node against
//! that, then asks: [`BackendTable::claim`] is given the nodes that are left, and takes or refuses each
//! of them. The host forms regions: sets of claimed nodes of one block, convex, as large as they can be.
//! [`BackendTable::compile`] is called once for each of them, and makes what stands in its place.
//!
//! Both read the model through [`GraphHost`](crate::graph::GraphHost), with the context that they were
//! called with. All calls come from one thread, one at a time. Everything borrowed from the host is valid
//! until the plugin's next call into the host; ids are valid until `claim` or `compile` returns.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

use crate::graph::AttributeView;
use crate::graph::GraphContext;
use crate::lowering::TypeRecord;
use crate::{RSlice, RSliceMut, RStr, Table};
use abi_stable::StableAbi;

/// The name of the interface.
pub const INTERFACE: &str = "backend/1";

/// The revision of the contract that brought the interface.
pub const SINCE: crate::Version = crate::Version { major: 1, minor: 0 };

/// What the plugin provides.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct BackendTable {
    /// The backends; users choose one by its id.
    pub entries: RSlice<'static, BackendEntry>,
    /// Takes or refuses the nodes of [`BackendHost::offered`] for the backend at `index`; `host` and
    /// `graph` are the envelopes of the [`BackendHost`] and the `GraphHost`. Called once per conversion.
    /// Returns a [`status`](crate::status); after anything but `OK` no node is claimed. May not keep what
    /// it learns for `compile`: nodes may be renumbered in between.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the conversion.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub claim: extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32,
    /// Compiles [`BackendHost::region`] for the backend at `index`: emits what replaces it and calls
    /// [`BackendHost::finish`]. Called once per region, in the order of their first nodes. Returns a
    /// [`status`](crate::status); after `REFUSED` the region stays as it is, and the report says so.
    /// Equal regions must give equal results, byte for byte.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the conversion.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub compile: extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32,
}

crate::table::interface!(BackendTable, INTERFACE, base: 3);

/// A backend and what it can take. Read once, when the plugin is attached.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct BackendEntry {
    /// What users call it, `npu`: lower-case letters, digits, `-` and `_`.
    pub id: RStr<'static>,
    /// One sentence; may be empty.
    pub description: RStr<'static>,
    /// Where the user names the plugin rather than one of its backends, the highest claims first.
    pub priority: i32,
    /// [`backend_flags`].
    pub flags: u32,
    /// Regions of fewer nodes are not compiled; their nodes stay.
    pub min_nodes: u32,
    /// The version of [`BackendEntry::domain`] that the model imports.
    pub domain_version: i64,
    /// The domain of the operators that it emits besides ONNX's own, `com.example.npu`; may be empty.
    pub domain: RStr<'static>,
    /// What it can take. A node that no record covers is not offered.
    pub ops: RSlice<'static, OpRecord>,
}

/// Flags of [`BackendEntry`].
pub mod backend_flags {
    /// Every claim is a region: the host does not join neighbours.
    pub const SEPARATE: u32 = 1;
}

/// Operators that a backend can take, and of what. An empty list stands for everything.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct OpRecord {
    /// The domain; empty for ONNX's own operators.
    pub domain: RStr<'static>,
    /// The operator; `*` for all of the domain.
    pub op: RStr<'static>,
    /// The lowest version of the domain's operator set.
    pub min_version: u32,
    /// The highest version of the domain's operator set.
    pub max_version: u32,
    /// The element types that inputs may have, numbers of `TensorProto.DataType`.
    pub inputs: RSlice<'static, i32>,
    /// The element types that outputs may have.
    pub outputs: RSlice<'static, i32>,
    /// The least number of axes of the first input and of the outputs.
    pub min_rank: u32,
    /// The largest number of axes of the first input and of the outputs; `u32::MAX` for any, an
    /// unknown one included.
    pub max_rank: u32,
    /// One of [`layout`].
    pub layout: u32,
    /// [`op_flags`].
    pub flags: u32,
}

/// Where the channels of images are. ONNX's own operators have them first; of other domains the host
/// does not know, and takes the record's word.
pub mod layout {
    /// Anywhere, or the operator has none.
    pub const ANY: u32 = 0;
    /// `N, C, H, W`.
    pub const CHANNELS_FIRST: u32 = 1;
    /// `N, H, W, C`.
    pub const CHANNELS_LAST: u32 = 2;
}

/// Flags of [`OpRecord`].
pub mod op_flags {
    /// Extents need not be numbers: they may be expressions over symbols, or unknown.
    pub const DYNAMIC: u32 = 1;
}

/// Flags of [`BackendHost::claim`].
pub mod claim_flags {
    /// The nodes come into one region, or none of them does. Without it each is claimed for itself.
    pub const TOGETHER: u32 = 1;
}

/// A region that is to be compiled.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RegionView<'a> {
    /// A name that no other region of the model has, `npu_0`.
    pub name: RStr<'a>,
    /// The nodes, in an order in which each comes after those that it needs. All are in one block.
    pub nodes: RSlice<'a, u64>,
    /// Values from outside that its nodes use, in the order of their first use; none is an initializer.
    pub inputs: RSlice<'a, u64>,
    /// Values of its nodes that are used outside, in the order of the nodes.
    pub outputs: RSlice<'a, u64>,
    /// Initializers that its nodes use, in the order of their first use. Others may use them too.
    pub weights: RSlice<'a, u64>,
}

/// The number of [`EmitRecord::blob`] that stands for none.
pub const NO_BLOB: u32 = u32::MAX;

/// A node that is to stand in the place of a region, or a part of what does.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct EmitRecord<'a> {
    /// The domain: empty for ONNX's own operators, or [`BackendEntry::domain`].
    pub domain: RStr<'a>,
    /// The operator.
    pub op: RStr<'a>,
    /// The inputs: the region's inputs and weights, constants and outputs that were made in this call;
    /// [`NOTHING`](crate::graph::NOTHING) where an optional one is left out.
    pub inputs: RSlice<'a, u64>,
    /// The attributes; no name may stand twice. Blocks cannot be given.
    pub attributes: RSlice<'a, AttributeView<'a>>,
    /// What the outputs are, one each: `kind` is `TENSOR`. The host infers the types of ONNX's own
    /// operators, and uses these where it cannot.
    pub outputs: RSlice<'a, TypeRecord<'a>>,
    /// The blob that belongs to the node, or [`NO_BLOB`]. A blob belongs to one node.
    pub blob: u32,
    /// The attribute that holds the blob, as a tensor of bytes. A blob that lies beside the model leaves
    /// it out; `<name>_file` then is the file, relative to the model, `<name>_size` its length in bytes
    /// and `<name>_sha256` its hash in hexadecimal.
    pub blob_attribute: RStr<'a>,
}

/// What the host offers during [`BackendTable::claim`] and [`BackendTable::compile`]. Used on the thread
/// that made the call and only until that returns. All functions that return a number return a
/// [`status`](crate::status); `INVALID` changes nothing.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct BackendHost {
    /// In `claim`: the nodes that the backend's capabilities cover and that no earlier backend took, by
    /// block and in order. Invalid in `compile`.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub offered: for<'a> extern "C" fn(cx: GraphContext, out: &mut RSlice<'a, u64>) -> u32,
    /// In `claim`: claims nodes, in any order. Invalid when one was not offered, stands twice or was
    /// claimed before; the conversion then fails. `flags` are [`claim_flags`].
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub claim: extern "C" fn(cx: GraphContext, nodes: RSlice<'_, u64>, flags: u32) -> u32,
    /// In `claim`: says in a sentence why a node is not claimed. Of several reasons the last counts; for
    /// a node that is claimed, none does.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub refuse_node: extern "C" fn(cx: GraphContext, node: u64, reason: RStr<'_>) -> u32,
    /// In `compile`: the region. Invalid in `claim`, as are all functions below but the last.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: nothing borrowed.
    /// - Gives: the value is borrowed until the next call into the same table.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub region: for<'a> extern "C" fn(cx: GraphContext, out: &mut RegionView<'a>) -> u32,
    /// In `compile`: makes a constant of little-endian, row-major `bytes` and stores its id.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub constant: extern "C" fn(
        cx: GraphContext,
        dtype: i32,
        dims: RSlice<'_, u64>,
        bytes: RSlice<'_, u8>,
        out: &mut u64,
    ) -> u32,
    /// In `compile`: appends to a blob; the first call for a number makes it. Large blobs go to disk.
    /// Refused when the disk does not take them.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID), [`REFUSED`](crate::status::REFUSED).
    pub blob: extern "C" fn(cx: GraphContext, blob: u32, bytes: RSlice<'_, u8>) -> u32,
    /// In `compile`: emits a node and stores the ids of its outputs. Invalid when an input is none that
    /// the record allows, or the number of outputs is not that of `node.outputs`.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub emit: extern "C" fn(cx: GraphContext, node: &EmitRecord<'_>, outputs: RSliceMut<'_, u64>) -> u32,
    /// In `compile`: sets what the outputs of the region become, one each and in their order. The host
    /// checks afterwards that types and shapes are the same, and fails the conversion if they are not.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub finish: extern "C" fn(cx: GraphContext, outputs: RSlice<'_, u64>) -> u32,
    /// Says why the plugin returns `REFUSED`. `code` is empty for the host's own code.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Cannot fail.
    pub refuse: extern "C" fn(cx: GraphContext, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>),
}

crate::table::interface!(BackendHost, INTERFACE, base: 9);
