//! `weights/1`: a plugin makes weights, or changes them on their way into a file.
//!
//! Nothing is made or changed before the model is written, and then in pieces, from several threads at
//! a time. The same piece always gets the same bytes.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

use crate::executor::Sink;
use abi_stable::StableAbi;
use abi_stable::std_types::{RSlice, RSliceMut, RStr};

/// The name of the interface.
pub const INTERFACE: &str = "weights/1";

/// The revision of the contract that brought the interface.
pub const SINCE: crate::Version = crate::Version { major: 1, minor: 1 };

/// What the plugin provides.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct WeightsTable {
    /// The tensors that the plugin makes.
    pub tensors: RSlice<'static, TensorEntry>,
    /// The transforms that the plugin has.
    pub transforms: RSlice<'static, TransformEntry>,
    /// Fills `out` with the bytes of the tensor at `index` from byte `offset` on: dense, row-major,
    /// little-endian. They lie inside of the tensor. Returns a [`status`](crate::status).
    ///
    /// - Since contract 1.1.
    /// - Thread: any, also several at once.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub fill: extern "C" fn(index: u32, offset: u64, out: RSliceMut<'_, u8>, sink: &Sink) -> u32,
    /// Says what the transform at `index` makes of `input`: hands one tensor without a name and without
    /// bytes to the sink. `REFUSED` for an input that it does not take.
    ///
    /// - Since contract 1.1.
    /// - Thread: any, also several at once.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Gives: through the sink; borrowed until the sink's function returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub output: extern "C" fn(index: u32, input: &WeightRecord<'_>, sink: &Sink) -> u32,
    /// Makes `out` of `bytes`: whole granules of the input, the first of which has the number `first`.
    /// Every granule becomes equally many bytes, the last one perhaps fewer.
    ///
    /// - Since contract 1.1.
    /// - Thread: any, also several at once.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub apply: extern "C" fn(
        index: u32,
        input: &WeightRecord<'_>,
        first: u64,
        bytes: RSlice<'_, u8>,
        out: RSliceMut<'_, u8>,
        sink: &Sink,
    ) -> u32,
}

crate::table::interface!(WeightsTable, INTERFACE, base: 5);

/// A tensor that the plugin makes.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct TensorEntry {
    /// The name, as the program has it.
    pub name: RStr<'static>,
    /// The number in `TensorProto.DataType`.
    pub dtype: i32,
    /// The extents.
    pub dims: RSlice<'static, u64>,
}

/// A transform of the plugin.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct TransformEntry {
    /// The name; unique in the plugin.
    pub name: RStr<'static>,
    /// One of [`granule`].
    pub granule: u32,
    /// The elements of a granule of the kind `BLOCK`; 0 otherwise.
    pub block: u64,
}

/// The smallest piece of a weight that a transform can change on its own, in row-major order.
pub mod granule {
    /// `block` elements.
    pub const BLOCK: u32 = 1;
    /// The elements along the last axis.
    pub const ROW: u32 = 2;
    /// Everything.
    pub const WHOLE: u32 = 3;
}

/// A weight that goes into a transform.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct WeightRecord<'a> {
    /// The number in `TensorProto.DataType`.
    pub dtype: i32,
    /// The extents.
    pub dims: RSlice<'a, u64>,
}
