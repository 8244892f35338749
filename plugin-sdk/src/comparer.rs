//! `compare/1` for plugin authors: implement [`Comparer`] and [`Comparison`], then export the plugin.
//!
//! ```ignore
//! onnxport_sdk::export_plugin! { id: "mine", comparer: MyComparer }
//! ```
//!
//! The glue owns handles, catches panics and carries errors over the boundary.

use crate::lent::Lent;
use onnxport_abi::DType;
use onnxport_abi::compare::{
    CompareTable, DECADE_BUCKETS, MetricsRecord, NOWHERE, PairRecord, SpreadRecord, ULP_BUCKETS,
};
use onnxport_abi::executor::{Handle, OptionRecord, Sink};
use onnxport_abi::{RSlice, RSliceMut, RStr};

use crate::executor::{Failure, Options};
use crate::handle::{borrow, exclusive, guard, into_handle, release};

/// The tensors to compare: one element type, one shape.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    record: &'a PairRecord<'a>,
}

impl<'a> Pair<'a> {
    /// The name of the output.
    pub fn name(&self) -> &'a str {
        self.record.name.lent()
    }

    /// The element type; `None` for one that this SDK does not know. Complex numbers are two elements.
    pub fn dtype(&self) -> Option<DType> {
        DType::from_onnx(self.record.dtype)
    }

    /// The extents.
    pub fn dims(&self) -> &'a [u64] {
        self.record.dims.lent()
    }

    /// The relative tolerance.
    pub fn rtol(&self) -> f64 {
        self.record.rtol
    }

    /// The absolute tolerance of a tensor whose largest finite expected magnitude is 1.
    pub fn unscaled_atol(&self) -> f64 {
        self.record.atol
    }

    /// Between which values the factor of the absolute tolerance is held.
    pub fn scale(&self) -> (f64, f64) {
        (self.record.scale_min, self.record.scale_max)
    }

    /// The absolute tolerance of a tensor whose largest finite expected magnitude is `largest`.
    pub fn atol(&self, largest: f64) -> f64 {
        self.unscaled_atol() * largest.max(self.record.scale_min).min(self.record.scale_max)
    }
}

/// The result of a comparison; see [`MetricsRecord`] for the definitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// The number of elements.
    pub elements: u64,
    /// How many of them are wrong.
    pub wrong: u64,
    /// The position of the first wrong one, row-major.
    pub first: Option<u64>,
    /// The largest absolute difference.
    pub max_abs: f64,
    /// The largest relative difference.
    pub max_rel: f64,
    /// The largest finite expected magnitude.
    pub largest: f64,
    /// The root of the mean of the squared differences.
    pub rms: f64,
    /// The cosine of the angle between both tensors.
    pub cosine: f64,
}

/// How the differences of a comparison are spread; see [`SpreadRecord`] for the definitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The mean of the absolute differences.
    pub mean: f64,
    /// How many elements are NaN in one tensor only.
    pub nan: u64,
    /// How many of the others are infinite in one tensor only, or with another sign.
    pub infinite: u64,
    /// How many of the others are zero in one tensor only.
    pub zero: u64,
    /// The largest distance in units of the last place.
    pub max_ulps: u64,
    /// The histogram of these distances, by the number of their bits.
    pub ulps: [u64; ULP_BUCKETS as usize],
    /// The histogram of the absolute differences, by powers of ten.
    pub decades: [u64; DECADE_BUCKETS as usize],
}

impl Metrics {
    pub(crate) fn record(&self) -> MetricsRecord {
        let Self { elements, wrong, first, max_abs, max_rel, largest, rms, cosine } = *self;
        let first = first.unwrap_or(NOWHERE);
        MetricsRecord { elements, wrong, first, max_abs, max_rel, largest, rms, cosine }
    }
}

impl Spread {
    pub(crate) fn record(&self) -> SpreadRecord {
        let Self { mean, nan, infinite, zero, max_ulps, .. } = *self;
        SpreadRecord { mean, nan, infinite, zero, max_ulps }
    }
}

/// Something that compares tensors.
pub trait Comparer: Sized + 'static {
    /// The name to show, `CUDA`.
    const NAME: &'static str;
    /// One comparison.
    type Comparison: Comparison;

    /// Opens the comparer.
    ///
    /// # Errors
    /// When it cannot work here: no such device.
    fn open(options: Options<'_>) -> Result<Self, Failure>;
    /// Begins a comparison.
    ///
    /// # Errors
    /// When it cannot compare such tensors.
    fn begin(&mut self, pair: Pair<'_>) -> Result<Self::Comparison, Failure>;
}

/// A comparison of two tensors, which arrive in chunks of whole elements, little-endian, row-major.
pub trait Comparison: 'static {
    /// Looks at the next chunk of the expected tensor; all of them come before the first
    /// [`Comparison::chunk`].
    ///
    /// # Errors
    /// Whatever goes wrong.
    fn scan(&mut self, expected: &[u8]) -> Result<(), Failure>;
    /// Compares the next chunk.
    ///
    /// # Errors
    /// Whatever goes wrong.
    fn chunk(&mut self, got: &[u8], expected: &[u8]) -> Result<(), Failure>;
    /// The result.
    ///
    /// # Errors
    /// Whatever goes wrong.
    fn finish(&mut self) -> Result<Metrics, Failure>;
    /// How the differences are spread, asked after [`Comparison::finish`]; `None` where that is not counted.
    ///
    /// # Errors
    /// Whatever goes wrong.
    fn spread(&mut self) -> Result<Option<Spread>, Failure> {
        Ok(None)
    }
}

/// The table of a comparer, to be stored in a static.
pub const fn table<C: Comparer>() -> CompareTable {
    CompareTable {
        name: RStr::from_str(C::NAME),
        open: open::<C>,
        begin: begin::<C>,
        scan: scan::<C>,
        chunk: chunk::<C>,
        finish: finish::<C>,
        end: end::<C>,
        close: close::<C>,
        spread: Some(spread::<C>),
    }
}

extern "C" fn open<C: Comparer>(options: RSlice<'_, OptionRecord<'_>>, out: &mut Handle, sink: &Sink) -> u32 {
    guard(sink, || {
        *out = into_handle(C::open(Options::new(options.lent()))?);
        Ok(())
    })
}

extern "C" fn begin<C: Comparer>(
    comparer: Handle,
    pair: &PairRecord<'_>,
    out: &mut Handle,
    sink: &Sink,
) -> u32 {
    guard(sink, || {
        // SAFETY: the host passes back the handle from `open::<C>`, and has not closed it.
        let comparer = unsafe { borrow::<C>(comparer) }?;
        *out = into_handle(exclusive(comparer)?.begin(Pair { record: pair })?);
        Ok(())
    })
}

extern "C" fn scan<C: Comparer>(comparison: Handle, expected: RSlice<'_, u8>, sink: &Sink) -> u32 {
    guard(sink, || {
        // SAFETY: the host passes back the handle from `begin::<C>`, and has not ended it.
        let comparison = unsafe { borrow::<C::Comparison>(comparison) }?;
        exclusive(comparison)?.scan(expected.lent())
    })
}

extern "C" fn chunk<C: Comparer>(
    comparison: Handle,
    got: RSlice<'_, u8>,
    expected: RSlice<'_, u8>,
    sink: &Sink,
) -> u32 {
    guard(sink, || {
        // SAFETY: the host passes back the handle from `begin::<C>`, and has not ended it.
        let comparison = unsafe { borrow::<C::Comparison>(comparison) }?;
        exclusive(comparison)?.chunk(got.lent(), expected.lent())
    })
}

extern "C" fn finish<C: Comparer>(comparison: Handle, out: &mut MetricsRecord, sink: &Sink) -> u32 {
    guard(sink, || {
        // SAFETY: the host passes back the handle from `begin::<C>`, and has not ended it.
        let comparison = unsafe { borrow::<C::Comparison>(comparison) }?;
        *out = exclusive(comparison)?.finish()?.record();
        Ok(())
    })
}

extern "C" fn spread<C: Comparer>(
    comparison: Handle,
    out: &mut SpreadRecord,
    ulps: RSliceMut<'_, u64>,
    decades: RSliceMut<'_, u64>,
    sink: &Sink,
) -> u32 {
    guard(sink, || {
        // SAFETY: the host passes back the handle from `begin::<C>`, and has not ended it.
        let comparison = unsafe { borrow::<C::Comparison>(comparison) }?;
        let Some(found) = exclusive(comparison)?.spread()? else {
            return Err(Failure::new("how differences are spread is not counted").unsupported());
        };
        *out = found.record();
        for (place, count) in ulps.lent().iter_mut().zip(found.ulps) {
            *place = count;
        }
        for (place, count) in decades.lent().iter_mut().zip(found.decades) {
            *place = count;
        }
        Ok(())
    })
}

extern "C" fn end<C: Comparer>(comparison: Handle) {
    // SAFETY: the host passes back the handle from `begin::<C>`, once.
    unsafe { release::<C::Comparison>(comparison) };
}

extern "C" fn close<C: Comparer>(comparer: Handle) {
    // SAFETY: the host passes back the handle from `open::<C>`, once.
    unsafe { release::<C>(comparer) };
}
