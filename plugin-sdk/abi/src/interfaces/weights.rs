//! `weights/1`: a plugin generates weights, or changes weights when they are written.
//!
//! This happens only when the model is written, in pieces, from several threads at a time. The same piece
//! always gets the same bytes.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

use crate::executor::Sink;
use crate::{RSlice, RSliceMut, RStr};
use abi_stable::StableAbi;

/// The name of the interface.
pub const INTERFACE: &str = "weights/1";

/// The revision of the contract that brought the interface.
pub const SINCE: crate::Version = crate::Version { major: 1, minor: 0 };

/// The functions and data that the plugin provides.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct WeightsTable {
    /// The tensors that the plugin generates.
    pub tensors: RSlice<'static, TensorEntry>,
    /// The transforms that the plugin has.
    pub transforms: RSlice<'static, TransformEntry>,
    /// Fills `out` with the bytes of the tensor at `index` from byte `offset` on: dense, row-major,
    /// little-endian. The range lies inside the tensor. Returns a [`status`](crate::status).
    ///
    /// - Since contract 1.0.
    /// - Thread: any, also several at once.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub fill: extern "C" fn(index: u32, offset: u64, out: RSliceMut<'_, u8>, sink: &Sink) -> u32,
    /// States the type of the result of the transform at `index` for `input`: hands one tensor without a name and
    /// without bytes to the sink. `REFUSED` for an unsupported input.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, also several at once.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: through the sink; borrowed until the sink's function returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub output: extern "C" fn(index: u32, input: &WeightRecord<'_>, sink: &Sink) -> u32,
    /// Transforms `bytes`, whole granules of the input from number `first` on, into `out`. All granules become
    /// the same number of bytes, except that the last one may become fewer.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, also several at once.
    /// - Takes: arguments are borrowed until the call returns.
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
    /// The quantizers of the plugin.
    ///
    /// - Since contract 1.0; `None` where it is not provided.
    /// - Thread: any, also several at once.
    /// - Takes: nothing borrowed.
    /// - Gives: the value stays valid for the rest of the process.
    /// - Cannot fail.
    pub quantisers: Option<extern "C" fn() -> RSlice<'static, QuantiserEntry>>,
    /// Quantizes a part of a weight with the quantizer at `index`: `weight ≈ (code - zero) * scale`.
    /// `codes` has an element for each value; `scales` and `zeros` have one for each block of each row. All elements
    /// are 0 at first. Codes must fit the scales as rounded to the type of the weight: nothing is rounded
    /// afterwards.
    ///
    /// Scales are finite, not 0, and numbers of that type; they are positive, except for symmetric codes of 4 bits.
    /// Symmetric: every zero is 0, and codes lie between `-2^(bits-1)` and `2^(bits-1) - 1`; otherwise zeros and codes
    /// lie between 0 and `2^bits - 1`.
    /// The host refuses other answers.
    ///
    /// A granule gets the same answer in every call, on every thread and in every process, alone and in
    /// any part: scales, zeros and codes are written at different times, and from answers to different
    /// calls.
    ///
    /// - Since contract 1.0; `None` where it is not provided.
    /// - Thread: any, also several at once.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`INVALID`](crate::status::INVALID).
    pub quantise: Option<
        extern "C" fn(
            index: u32,
            part: &RectangleRecord<'_>,
            scales: RSliceMut<'_, f32>,
            zeros: RSliceMut<'_, i32>,
            codes: RSliceMut<'_, i32>,
            sink: &Sink,
        ) -> u32,
    >,
}

crate::table::interface!(WeightsTable, INTERFACE, base: 5);

/// A tensor that the plugin generates.
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

/// A quantizer of the plugin: it chooses the scales, the zero points and the codes of weights that the host
/// stores as integers.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct QuantiserEntry {
    /// The name; unique in the plugin.
    pub name: RStr<'static>,
    /// Its effect, in one line; may be empty.
    pub doc: RStr<'static>,
    /// One of [`quantiser_granule`].
    pub granule: u32,
}

/// The values that a quantizer needs at once. A call is given whole ones.
pub mod quantiser_granule {
    /// The weights of a block, which share a scale.
    pub const BLOCK: u32 = 1;
    /// All blocks of a row.
    pub const ROW: u32 = 2;
}

/// A part of a weight that is quantized. The weight is a matrix with a row per output; each row, over which a sum
/// runs, is divided into blocks.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct RectangleRecord<'a> {
    /// The name of the weight, as the program has it. Tied weights have the name of the first of them.
    pub name: RStr<'a>,
    /// The number in `TensorProto.DataType` of the type of the weight, and so of its scales.
    pub dtype: i32,
    /// The bits of a code.
    pub bits: u32,
    /// 1 when every zero point is 0.
    pub symmetric: u32,
    /// The weights of a block; the last block of a row may have fewer.
    pub block: u64,
    /// The rows of the whole matrix.
    pub rows: u64,
    /// The columns of the whole matrix.
    pub columns: u64,
    /// The first row of the part.
    pub first_row: u64,
    /// The row behind the last one.
    pub end_row: u64,
    /// The first column of the part, where a block starts.
    pub first_column: u64,
    /// The column behind the last one, where a block starts or the matrix ends.
    pub end_column: u64,
    /// The weights of the part, row by row, all finite.
    pub values: RSlice<'a, f32>,
}
