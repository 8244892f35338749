//! `backend/1`: a plugin takes parts of a model for hardware.
//!
//! A backend states its capabilities as data ([`BackendEntry`]). The host passes the nodes that they cover to
//! [`BackendTable::claim`], which takes or refuses each of them. The host then forms regions: convex sets of claimed
//! nodes of one block, as large as possible. [`BackendTable::compile`] is called once for each region and emits
//! its replacement.
//!
//! Both read the model through [`GraphHost`](crate::graph::GraphHost), with the context that they were
//! called with. All calls come from one thread, one at a time, unless a backend has the flag
//! [`PARALLEL`](backend_flags::PARALLEL). Everything borrowed from the host is valid until the plugin's next call into
//! the host; ids are valid until `claim` or `compile` returns.
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

/// The functions and data that the plugin provides.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct BackendTable {
    /// The backends; users choose one by its id.
    pub entries: RSlice<'static, BackendEntry>,
    /// Takes or refuses the nodes of [`BackendHost::offered`] for the backend at `index`; `host` and
    /// `graph` are the envelopes of the [`BackendHost`] and the `GraphHost`. Called once per conversion.
    /// Returns a [`status`](crate::status); after anything but `OK` no node is claimed. Ids are not valid in
    /// `compile`: nodes may be renumbered in between.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the conversion.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub claim: extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32,
    /// Compiles [`BackendHost::region`] for the backend at `index`: emits its replacement and calls
    /// [`BackendHost::finish`]. Called once per region, in the order of their first nodes, or for several regions at
    /// once if the backend has the flag [`PARALLEL`](backend_flags::PARALLEL). Returns a
    /// [`status`](crate::status); after `REFUSED` the region stays, and the report says so, or the host compiles what
    /// remains of it without the nodes that [`BackendHost::refuse_node`] named.
    /// Equal regions must give equal results, byte for byte.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the conversion.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub compile: extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32,
    /// States in one line everything that results of the backend at `index` depend on besides the region, the plugin
    /// and its options: versions of the SDK and of drivers, and the hardware. While the text is the same, the host may
    /// use the results of earlier runs. Without this function, or after anything but `OK`, it does not.
    ///
    /// - Since contract 1.0; `None` where it is not provided.
    /// - Thread: the one of the conversion.
    /// - Takes: nothing borrowed.
    /// - Gives: the value stays valid for the rest of the process.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub environment: Option<extern "C" fn(index: u32, out: &mut RStr<'static>) -> u32>,
    /// Estimates the cost of [`BackendHost::region`] for the backend at `index`. Called once for each region before any
    /// is compiled; the functions of [`BackendHost`] that make something are of no use in it. The host leaves regions
    /// that take longer than their nodes do otherwise. Without this function, or after anything but `OK`, it keeps them.
    ///
    /// - Since contract 1.0; `None` where it is not provided.
    /// - Thread: the one of the conversion.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub cost: Option<
        extern "C" fn(index: u32, host: &Table, graph: &Table, cx: GraphContext, out: &mut CostRecord) -> u32,
    >,
}

crate::table::interface!(BackendTable, INTERFACE, base: 3);

/// An estimate of [`BackendTable::cost`], in seconds: finite numbers that are not negative.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct CostRecord {
    /// The time that the region takes on the device, without transfers.
    pub device: f64,
    /// The time that its nodes take in the runtime, without the backend.
    pub runtime: f64,
    /// The time to enter and leave the region, whatever crosses its border.
    pub entry: f64,
    /// The time for each byte of an input or output to cross the border. Weights do not cross it; a dynamic dimension
    /// counts as 1.
    pub byte: f64,
}

/// A backend and its capabilities. Read once, when the plugin is attached.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct BackendEntry {
    /// The id that users write, `npu`: lower-case letters, digits, `-` and `_`.
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
    /// The operators that it supports. A node that no record covers is not offered.
    pub ops: RSlice<'static, OpRecord>,
}

/// Flags of [`BackendEntry`].
pub mod backend_flags {
    /// Every claim is a region: the host does not join neighbours.
    pub const SEPARATE: u32 = 1;
    /// The runtime takes one region of a model. The host keeps the one with the most nodes; others stay.
    pub const SINGLE: u32 = 2;
    /// `compile` may be called for several regions at once, each on a thread of its own.
    pub const PARALLEL: u32 = 4;
}

/// Operators that a backend supports, with types and ranks. An empty list of types allows all types.
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

/// The position of the channels of images. ONNX's own operators have them first; for operators of other domains,
/// the host relies on the record.
pub mod layout {
    /// Any position, or the operator has no channels.
    pub const ANY: u32 = 0;
    /// `N, C, H, W`.
    pub const CHANNELS_FIRST: u32 = 1;
    /// `N, H, W, C`.
    pub const CHANNELS_LAST: u32 = 2;
}

/// Flags of [`OpRecord`].
pub mod op_flags {
    /// Extents may be expressions over symbols, or unknown.
    pub const DYNAMIC: u32 = 1;
}

/// Flags of [`BackendHost::claim`].
pub mod claim_flags {
    /// The nodes belong to one region, or none of them does. Without it, each node is claimed separately.
    pub const TOGETHER: u32 = 1;
}

/// A region that is to be compiled.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RegionView<'a> {
    /// The name, unique in the model: `npu_0`.
    pub name: RStr<'a>,
    /// The nodes, all of one block, in topological order.
    pub nodes: RSlice<'a, u64>,
    /// Values from outside that its nodes use, without initializers, in the order of their first use.
    pub inputs: RSlice<'a, u64>,
    /// Values of its nodes that are used outside, in the order of the nodes.
    pub outputs: RSlice<'a, u64>,
    /// Initializers that its nodes use, in the order of their first use. Others may use them too.
    pub weights: RSlice<'a, u64>,
}

/// The number of [`EmitRecord::blob`] for a node without a blob.
pub const NO_BLOB: u32 = u32::MAX;

/// A node of the replacement of a region.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct EmitRecord<'a> {
    /// The domain: empty for ONNX's own operators, or [`BackendEntry::domain`].
    pub domain: RStr<'a>,
    /// The operator.
    pub op: RStr<'a>,
    /// The inputs: the region's inputs and weights, and constants and outputs that were created in this call;
    /// [`NOTHING`](crate::graph::NOTHING) where an optional one is left out.
    pub inputs: RSlice<'a, u64>,
    /// The attributes, with different names. Blocks are not allowed.
    pub attributes: RSlice<'a, AttributeView<'a>>,
    /// The types of the outputs, of kind `TENSOR`. The host infers the types of ONNX's own operators, and uses
    /// these where it cannot.
    pub outputs: RSlice<'a, TypeRecord<'a>>,
    /// The blob that belongs to the node, or [`NO_BLOB`]. A blob belongs to one node.
    pub blob: u32,
    /// The attribute that holds the blob, as a tensor of bytes. It is left out for a blob in its own file;
    /// `<name>_file` then is the file, relative to the model, `<name>_size` its length in bytes
    /// and `<name>_sha256` its hash in hexadecimal.
    pub blob_attribute: RStr<'a>,
}

/// Functions of the host for [`BackendTable::claim`] and [`BackendTable::compile`]. Used on the thread
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
    /// In `claim`: claims nodes, in any order. Invalid if one was not offered, occurs twice or was
    /// claimed before; the conversion then fails. `flags` are [`claim_flags`].
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub claim: extern "C" fn(cx: GraphContext, nodes: RSlice<'_, u64>, flags: u32) -> u32,
    /// In `claim`: states in a sentence why a node is not claimed. The last reason counts; it is ignored if the
    /// node is claimed. In `compile`: states why a node of the region cannot be compiled; after `REFUSED`, the host
    /// compiles the rest of the region.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
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
    /// In `compile`: appends to a blob; the first call for a number creates it. Large blobs are stored on disk.
    /// Refused if they cannot be written.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID), [`REFUSED`](crate::status::REFUSED).
    pub blob: extern "C" fn(cx: GraphContext, blob: u32, bytes: RSlice<'_, u8>) -> u32,
    /// In `compile`: emits a node and stores the ids of its outputs. Invalid if the record does not allow an
    /// input, or the number of outputs differs from that of `node.outputs`.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub emit: extern "C" fn(cx: GraphContext, node: &EmitRecord<'_>, outputs: RSliceMut<'_, u64>) -> u32,
    /// In `compile`: sets the replacements of the outputs of the region, in their order. The host then checks
    /// that types and shapes are the same, and fails the conversion if they are not.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Answers [`OK`](crate::status::OK), [`INVALID`](crate::status::INVALID).
    pub finish: extern "C" fn(cx: GraphContext, outputs: RSlice<'_, u64>) -> u32,
    /// Reports why the plugin returns `REFUSED`. `code` is empty for the host's own code.
    ///
    /// - Since contract 1.0.
    /// - Thread: the one of the call that passed this on, and only until that returns.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Cannot fail.
    pub refuse: extern "C" fn(cx: GraphContext, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>),
}

crate::table::interface!(BackendHost, INTERFACE, base: 9);
