//! `compare/1`: a plugin compares tensors with expected ones.
//!
//! A comparison gets two tensors of one element type and shape in chunks, so that neither has to be in
//! the plugin's memory, or on its device, as a whole. The host gives all chunks of the expected tensor
//! to [`CompareTable::scan`] first, then all pairs to [`CompareTable::chunk`], both in order. One
//! comparison is used by one thread at a time. All functions may block.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

use crate::executor::Handle;
use crate::executor::OptionRecord;
use crate::executor::Sink;
use crate::{RSlice, RSliceMut, RStr};
use abi_stable::StableAbi;

/// The name of the interface.
pub const INTERFACE: &str = "compare/1";

/// The revision of the contract that brought the interface.
pub const SINCE: crate::Version = crate::Version { major: 1, minor: 0 };

/// The position if there is none.
pub const NOWHERE: u64 = u64::MAX;

/// The buckets of the histogram of distances in units of the last place: a distance is counted at the number
/// of its bits, 0 at 0, 1 at 1, 2 and 3 at 2, 4 to 7 at 3.
pub const ULP_BUCKETS: u32 = 65;

/// The buckets of the histogram of `|got - expected|`: at 0 the number of zeros, at 1 of numbers below
/// `10^FIRST_DECADE`, then one for each power of ten, from the power itself to below the next, and at the end
/// one for `10^20` and more. The powers are rounded to the nearest `f64`.
pub const DECADE_BUCKETS: u32 = 43;

/// The exponent of the first power of ten with a bucket of its own.
pub const FIRST_DECADE: i32 = -20;

/// The functions and data that the plugin provides.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct CompareTable {
    /// The name to show, `CUDA`.
    pub name: RStr<'static>,
    /// Opens the comparer. Stores a handle for [`CompareTable::close`]. Returns a
    /// [`status`](crate::status).
    ///
    /// - Since contract 1.0.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: the value stays valid until `close` takes it back.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`UNSUPPORTED`](crate::status::UNSUPPORTED).
    pub open: extern "C" fn(options: RSlice<'_, OptionRecord<'_>>, out: &mut Handle, sink: &Sink) -> u32,
    /// Begins a comparison. Stores a handle for [`CompareTable::end`]. `UNSUPPORTED` for an element type
    /// that the plugin does not compare.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: the value stays valid until `end` takes it back.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`UNSUPPORTED`](crate::status::UNSUPPORTED).
    pub begin: extern "C" fn(comparer: Handle, pair: &PairRecord<'_>, out: &mut Handle, sink: &Sink) -> u32,
    /// Looks at the next elements of the expected tensor.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: through the sink; borrowed until the sink's function returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`UNSUPPORTED`](crate::status::UNSUPPORTED).
    pub scan: extern "C" fn(comparison: Handle, expected: RSlice<'_, u8>, sink: &Sink) -> u32,
    /// Compares the next elements, whole ones and as many of both.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: through the sink; borrowed until the sink's function returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`UNSUPPORTED`](crate::status::UNSUPPORTED).
    pub chunk:
        extern "C" fn(comparison: Handle, got: RSlice<'_, u8>, expected: RSlice<'_, u8>, sink: &Sink) -> u32,
    /// Returns the metrics. Afterwards only `spread` and `end` are called.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`UNSUPPORTED`](crate::status::UNSUPPORTED).
    pub finish: extern "C" fn(comparison: Handle, out: &mut MetricsRecord, sink: &Sink) -> u32,
    /// Releases a comparison.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: nothing borrowed.
    /// - Cannot fail.
    pub end: extern "C" fn(comparison: Handle),
    /// Releases the comparer.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: nothing borrowed.
    /// - Cannot fail.
    pub close: extern "C" fn(comparer: Handle),
    /// States how the differences are spread. Called after [`CompareTable::finish`] answered `OK`, at most
    /// once. `ulps` has [`ULP_BUCKETS`] numbers and `decades` has [`DECADE_BUCKETS`], all 0. Pairs of NaN and pairs of
    /// equal infinities are counted at 0 in both; other pairs with a NaN or an infinity in neither.
    /// `UNSUPPORTED` if the plugin does not count them.
    ///
    /// - Since contract 1.0; `None` where it is not provided.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: plain values, the caller's own.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED), [`UNSUPPORTED`](crate::status::UNSUPPORTED).
    pub spread: Option<
        extern "C" fn(
            comparison: Handle,
            out: &mut SpreadRecord,
            ulps: RSliceMut<'_, u64>,
            decades: RSliceMut<'_, u64>,
            sink: &Sink,
        ) -> u32,
    >,
}

crate::table::interface!(CompareTable, INTERFACE, base: 8);

/// The tensors of a comparison, and the tolerance: an element is wrong if
/// `|got - expected| > atol * s + rtol * |expected|`, where `s` is the largest finite `|expected|` of
/// the tensor, clamped to `scale_min` and `scale_max`. A NaN equals a NaN, an infinity the same one.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct PairRecord<'a> {
    /// The name of the output.
    pub name: RStr<'a>,
    /// The number in `TensorProto.DataType`; complex numbers count as two elements.
    pub dtype: i32,
    /// The extents.
    pub dims: RSlice<'a, u64>,
    /// The relative tolerance.
    pub rtol: f64,
    /// The absolute tolerance.
    pub atol: f64,
    /// The smallest factor of the absolute tolerance.
    pub scale_min: f64,
    /// The largest factor of the absolute tolerance.
    pub scale_max: f64,
}

/// The metrics of a comparison.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct MetricsRecord {
    /// The number of elements that were compared.
    pub elements: u64,
    /// How many of them are wrong.
    pub wrong: u64,
    /// The position of the first wrong one, row-major; [`NOWHERE`] if none is wrong.
    pub first: u64,
    /// The largest `|got - expected|` over the finite elements.
    pub max_abs: f64,
    /// The largest `|got - expected| / |expected|` where `|expected|` exceeds the absolute tolerance.
    pub max_rel: f64,
    /// The largest finite `|expected|`.
    pub largest: f64,
    /// The square root of the mean of `(got - expected)²` over the finite elements.
    pub rms: f64,
    /// The cosine of the angle between the two as vectors, over the finite elements; 1 when both are
    /// zero.
    pub cosine: f64,
}

/// How the differences of a comparison are spread. `nan`, `infinite` and `zero` count no element twice.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct SpreadRecord {
    /// The mean of `|got - expected|` over the elements that are finite in both; 0 where there are none.
    pub mean: f64,
    /// How many elements are NaN in one tensor only.
    pub nan: u64,
    /// How many of the others are infinite in one tensor only, or with another sign.
    pub infinite: u64,
    /// How many of the others are zero, of any sign, in one tensor only.
    pub zero: u64,
    /// The largest distance in units of the last place over the elements that are finite in both: how many
    /// numbers of the element type lie between, plus one; zeros of both signs are one number. Of integers
    /// and truth values it is the difference.
    pub max_ulps: u64,
}
