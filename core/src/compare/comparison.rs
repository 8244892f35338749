//! A comparison of two tensors, in chunks.

use super::difference::Difference;
use super::element::Reader;
use super::tally::{Largest, Tally};
use super::tolerance::Tolerance;
use crate::tensor::DType;

/// A comparison of two tensors of one element type and shape, which arrive in chunks: first the whole expected tensor
/// once ([`Comparison::scan`]), since the absolute tolerance depends on its largest element, then both
/// ([`Comparison::chunk`]). How they are cut changes nothing.
///
/// ```
/// # use onnxport_core::compare::{Comparison, Tolerance};
/// # use onnxport_core::DType;
/// let mut comparison = Comparison::new(DType::U8, &[2, 2], Tolerance::EXACT);
/// comparison.scan(&[1, 2, 3, 4]);
/// comparison.chunk(&[1, 2], &[1, 2]);
/// comparison.chunk(&[3, 6], &[3, 4]);
/// let found = comparison.finish();
/// assert_eq!((found.wrong, found.max_abs, found.first.unwrap().index), (1, 2.0, vec![1, 1]));
/// ```
pub struct Comparison {
    reader: Reader,
    extents: Vec<u64>,
    /// The number of elements by the shape.
    count: u64,
    tolerance: Tolerance,
    scanned: Largest,
    tally: Option<Tally>,
}

impl Comparison {
    /// Begins a comparison. Nothing is text: strings have no elements here.
    pub fn new(dtype: DType, shape: &[u64], tolerance: Tolerance) -> Self {
        let extents = extents(dtype, shape);
        Self {
            reader: Reader::for_type(dtype),
            count: extents.iter().fold(1, |count: u64, extent| count.saturating_mul(*extent)),
            extents,
            tolerance,
            scanned: Largest::default(),
            tally: None,
        }
    }

    /// Looks at the next elements of the expected tensor.
    pub fn scan(&mut self, expected: &[u8]) {
        self.reader.pairs(expected, expected, u64::MAX, &mut self.scanned);
    }

    /// Compares the next elements, whole ones and as many of both; of types with less than a byte, a multiple of
    /// three bytes but for the last chunk.
    pub fn chunk(&mut self, got: &[u8], expected: &[u8]) {
        let tally = self.tally.get_or_insert_with(|| Tally::new(self.tolerance.scaled(self.scanned.0)));
        let left = self.count.saturating_sub(tally.elements);
        self.reader.pairs(got, expected, left, tally);
    }

    /// Returns the result.
    pub fn finish(self) -> Difference {
        let tally = self.tally.unwrap_or_else(|| Tally::new(self.tolerance.scaled(self.scanned.0)));
        tally.finish(|position| unravel(position, &self.extents))
    }
}

/// Compares tensors of one element type and shape, given as little-endian, row-major bytes.
///
/// A NaN equals a NaN, an infinity the same infinity, and zeros of both signs each other. The absolute tolerance
/// is multiplied by the largest finite expected magnitude, clamped to 1 to 1000: after cancellation, the error
/// of a small result is relative to the large numbers.
pub fn compare(dtype: DType, shape: &[u64], got: &[u8], expected: &[u8], tolerance: Tolerance) -> Difference {
    let mut comparison = Comparison::new(dtype, shape, tolerance);
    if tolerance.atol != 0.0 {
        comparison.scan(expected);
    }
    comparison.chunk(got, expected);
    comparison.finish()
}

/// The sizes of a tensor whose complex numbers are pairs.
pub(crate) fn extents(dtype: DType, shape: &[u64]) -> Vec<u64> {
    shape.iter().copied().chain(dtype.is_complex().then_some(2)).collect()
}

/// Returns the index of the element at a position.
pub(super) fn unravel(mut position: u64, extents: &[u64]) -> Vec<u64> {
    let mut index: Vec<u64> = extents
        .iter()
        .rev()
        .map(|extent| {
            let at = position % (*extent).max(1);
            position /= (*extent).max(1);
            at
        })
        .collect();
    index.reverse();
    index
}
