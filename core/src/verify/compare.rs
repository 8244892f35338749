//! Whether a tensor holds the expected values.

use serde::Serialize;

use crate::tensor::DType;

/// Between which values the factor of the absolute tolerance is held.
pub(super) const SCALE: (f64, f64) = (1.0, 1e3);

/// How far a value may be from the expected one: `|got - expected| <= atol + rtol * |expected|`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tolerance {
    /// The relative part.
    pub rtol: f64,
    /// The absolute part.
    pub atol: f64,
}

impl Tolerance {
    /// No difference at all.
    pub const EXACT: Self = Self { rtol: 0.0, atol: 0.0 };

    /// The tolerance for an element type.
    ///
    /// `torch.testing.assert_close` allows (1.3e-6, 1e-5) for `f32`, (1e-7, 1e-7) for `f64`,
    /// (1e-3, 1e-5) for `f16` and (1.6e-2, 1e-5) for `bf16`: fit for one operator. A whole model sums
    /// in other orders than PyTorch's kernels in every layer, so what is allowed here is about a
    /// thousand times that for `f32`, ten times for the others. Integers and truth values are exact.
    pub fn of(dtype: DType) -> Self {
        match dtype {
            DType::F64 | DType::C128 => Self { rtol: 1e-6, atol: 1e-7 },
            DType::F32 | DType::C64 => Self { rtol: 1e-3, atol: 1e-4 },
            DType::F16 => Self { rtol: 1e-2, atol: 1e-2 },
            DType::BF16 => Self { rtol: 4e-2, atol: 4e-2 },
            _ => Self::EXACT,
        }
    }

    /// The tolerance for a tensor whose largest finite expected magnitude is `largest`.
    pub(super) fn scaled(self, largest: f64) -> Self {
        Self { atol: self.atol * largest.clamp(SCALE.0, SCALE.1), ..self }
    }
}

/// What a comparison found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The largest `|got - expected|` over the finite elements.
    pub max_abs: f64,
    /// The largest `|got - expected| / |expected|` where `|expected|` exceeds the absolute tolerance.
    pub max_rel: f64,
    /// How many elements are outside of the tolerance.
    pub wrong: u64,
    /// Of them, those that are infinite or NaN and should not be, or the other way round.
    pub not_finite: u64,
    /// How many elements there are.
    pub elements: u64,
    /// The largest finite magnitude among the expected elements.
    pub largest: f64,
    /// The square root of the mean of `(got - expected)²` over the finite elements.
    pub rms: f64,
    /// The cosine of the angle between the two tensors as vectors, over the finite elements; 1 when
    /// both are zero.
    pub cosine: f64,
    /// The first element outside of the tolerance.
    pub first: Option<Wrong>,
    /// What was allowed; the absolute part is scaled, see [`compare`].
    pub allowed: Tolerance,
}

/// An element outside of the tolerance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wrong {
    /// Its position along every axis.
    pub index: Vec<u64>,
    /// The value.
    pub got: String,
    /// The expected value.
    pub expected: String,
}

/// Compares tensors of one element type and shape, given as little-endian, row-major bytes.
///
/// A NaN equals a NaN, an infinity the same infinity. The absolute tolerance is multiplied by the
/// largest finite expected magnitude, held between 1 and 1000: where large numbers cancel, the error
/// of a small result is relative to them.
pub fn compare(dtype: DType, shape: &[u64], got: &[u8], expected: &[u8], tolerance: Tolerance) -> Difference {
    let mut found = match dtype {
        DType::F32 | DType::C64 => floats::<4>(got, expected, tolerance, |b| f32::from_le_bytes(b).into()),
        DType::F64 | DType::C128 => floats::<8>(got, expected, tolerance, f64::from_le_bytes),
        DType::F16 => floats::<2>(got, expected, tolerance, |b| half::f16::from_le_bytes(b).to_f64()),
        DType::BF16 => floats::<2>(got, expected, tolerance, |b| half::bf16::from_le_bytes(b).to_f64()),
        _ => integers(dtype, got, expected),
    };
    let last_axis_is_pair = dtype.is_complex().then_some(2);
    let extents: Vec<u64> = shape.iter().copied().chain(last_axis_is_pair).collect();
    if let Some(first) = &mut found.first {
        first.index = unravel(first.index.first().copied().unwrap_or(0), &extents);
    }
    found
}

impl Difference {
    /// Whether zeros would have passed: the comparison says nothing about the model.
    pub fn is_vacuous(&self) -> bool {
        self.elements > 0 && self.allowed != Tolerance::EXACT && self.largest <= self.allowed.atol
    }

    fn none(allowed: Tolerance) -> Self {
        Self {
            max_abs: 0.0,
            max_rel: 0.0,
            wrong: 0,
            not_finite: 0,
            elements: 0,
            largest: 0.0,
            rms: 0.0,
            cosine: 1.0,
            first: None,
            allowed,
        }
    }

    fn mark(&mut self, got: &dyn ToString, expected: &dyn ToString) {
        self.wrong += 1;
        self.first.get_or_insert_with(|| Wrong {
            index: vec![self.elements],
            got: got.to_string(),
            expected: expected.to_string(),
        });
    }
}

fn elements<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.chunks_exact(N).filter_map(|chunk| chunk.try_into().ok())
}

fn floats<const N: usize>(
    got: &[u8],
    expected: &[u8],
    tolerance: Tolerance,
    decode: impl Fn([u8; N]) -> f64,
) -> Difference {
    let largest = elements(expected).map(&decode).filter(|e| e.is_finite()).fold(0.0, |m, e| e.abs().max(m));
    let allowed = tolerance.scaled(largest);
    let mut found = Difference { largest, ..Difference::none(allowed) };
    let mut sums = Sums::default();
    for (got, expected) in elements(got).map(&decode).zip(elements(expected).map(&decode)) {
        let difference = (got - expected).abs();
        sums.add(got, expected);
        // Infinities of one sign differ by NaN, so equality comes first.
        if got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan()) {
        } else if difference.is_finite() {
            found.max_abs = found.max_abs.max(difference);
            if expected.abs() > allowed.atol {
                found.max_rel = found.max_rel.max(difference / expected.abs());
            }
            if difference > allowed.atol + allowed.rtol * expected.abs() {
                found.mark(&got, &expected);
            }
        } else {
            found.not_finite += 1;
            found.mark(&got, &expected);
        }
        found.elements += 1;
    }
    (found.rms, found.cosine) = sums.finish();
    found
}

/// Sums over the elements that are finite in both tensors.
#[derive(Default)]
struct Sums {
    count: f64,
    squares: f64,
    product: f64,
    got: f64,
    expected: f64,
}

impl Sums {
    fn add(&mut self, got: f64, expected: f64) {
        if got.is_finite() && expected.is_finite() {
            self.count += 1.0;
            self.squares += (got - expected) * (got - expected);
            self.product += got * expected;
            self.got += got * got;
            self.expected += expected * expected;
        }
    }

    /// The root of the mean square, and the cosine.
    fn finish(&self) -> (f64, f64) {
        let rms = if self.count > 0.0 { (self.squares / self.count).sqrt() } else { 0.0 };
        let norms = self.got.sqrt() * self.expected.sqrt();
        let cosine = match (norms > 0.0, self.got == self.expected) {
            (true, _) => self.product / norms,
            (false, both_zero) => f64::from(u8::from(both_zero)),
        };
        (rms, cosine)
    }
}

fn integers(dtype: DType, got: &[u8], expected: &[u8]) -> Difference {
    match dtype {
        DType::I64 => exact::<8>(got, expected, |b| i64::from_le_bytes(b).into()),
        DType::U64 => exact::<8>(got, expected, |b| u64::from_le_bytes(b).into()),
        DType::I32 => exact::<4>(got, expected, |b| i32::from_le_bytes(b).into()),
        DType::U32 => exact::<4>(got, expected, |b| u32::from_le_bytes(b).into()),
        DType::I16 => exact::<2>(got, expected, |b| i16::from_le_bytes(b).into()),
        DType::U16 => exact::<2>(got, expected, |b| u16::from_le_bytes(b).into()),
        DType::I8 => exact::<1>(got, expected, |b| i8::from_le_bytes(b).into()),
        DType::Bool => exact::<1>(got, expected, |[b]| i128::from(b != 0)),
        // Eight bits and less: the bit patterns are compared.
        _ => exact::<1>(got, expected, |[b]| b.into()),
    }
}

fn exact<const N: usize>(got: &[u8], expected: &[u8], decode: impl Fn([u8; N]) -> i128) -> Difference {
    let mut found = Difference::none(Tolerance::EXACT);
    let mut sums = Sums::default();
    for (got, expected) in elements(got).map(&decode).zip(elements(expected).map(&decode)) {
        sums.add(got as f64, expected as f64);
        if got != expected {
            let difference = (got - expected).unsigned_abs() as f64;
            found.max_abs = found.max_abs.max(difference);
            if expected != 0 {
                found.max_rel = found.max_rel.max(difference / expected.unsigned_abs() as f64);
            }
            found.mark(&got, &expected);
        }
        found.elements += 1;
    }
    (found.rms, found.cosine) = sums.finish();
    found
}

/// The element at `position` as text; half of one where elements are complex.
pub(super) fn element(dtype: DType, bytes: &[u8], position: u64) -> String {
    let size = match dtype {
        DType::C64 => 4,
        DType::C128 => 8,
        other => (other.bits() as usize / 8).max(1),
    };
    let start = usize::try_from(position).ok().and_then(|position| position.checked_mul(size));
    let bytes = start.and_then(|start| bytes.get(start..)?.get(..size)).unwrap_or_default();
    let float = match dtype {
        DType::F32 | DType::C64 => bytes.try_into().ok().map(|b| f32::from_le_bytes(b).into()),
        DType::F64 | DType::C128 => bytes.try_into().ok().map(f64::from_le_bytes),
        DType::F16 => bytes.try_into().ok().map(|b| half::f16::from_le_bytes(b).to_f64()),
        DType::BF16 => bytes.try_into().ok().map(|b| half::bf16::from_le_bytes(b).to_f64()),
        _ => None,
    };
    if let Some(float) = float {
        return float.to_string();
    }
    let unsigned = bytes.iter().rev().fold(0_i128, |number, byte| number << 8 | i128::from(*byte));
    let negative = [DType::I8, DType::I16, DType::I32, DType::I64].contains(&dtype)
        && bytes.last().is_some_and(|top| top & 0x80 != 0);
    (unsigned - if negative { 1 << (8 * bytes.len()) } else { 0 }).to_string()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn the_first_wrong_element_is_named_by_its_index() {
        let expected = f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let got = f32s(&[1.0, 2.0, 3.0, 4.0, 5.5, 7.0]);
        let found = compare(DType::F32, &[2, 3], &got, &expected, Tolerance::of(DType::F32));
        assert_eq!((found.wrong, found.elements), (2, 6));
        let first = found.first.as_ref().map(|w| (w.index.as_slice(), w.got.as_str(), w.expected.as_str()));
        assert_eq!(first, Some(([1, 1].as_slice(), "5.5", "5")));
        assert!((found.max_abs - 1.0).abs() < 1e-12);
    }

    #[test]
    fn equal_infinities_and_nans_agree_and_others_do_not() {
        let expected = f32s(&[f32::INFINITY, f32::NAN, 1.0, f32::NEG_INFINITY]);
        assert_eq!(compare(DType::F32, &[4], &expected, &expected, Tolerance::EXACT).wrong, 0);
        let got = f32s(&[f32::INFINITY, 0.0, f32::NAN, f32::INFINITY]);
        let found = compare(DType::F32, &[4], &got, &expected, Tolerance::of(DType::F32));
        assert_eq!((found.wrong, found.not_finite), (3, 3));
    }

    #[test]
    fn integers_and_truth_values_are_exact() {
        let found = compare(DType::U8, &[2], &[1, 255], &[1, 254], Tolerance::of(DType::U8));
        assert_eq!((found.wrong, found.max_abs), (1, 1.0));
        assert_eq!(compare(DType::Bool, &[2], &[2, 0], &[1, 0], Tolerance::EXACT).wrong, 0);
        let (big, bigger) = (i64::MIN.to_le_bytes(), i64::MAX.to_le_bytes());
        assert_eq!(compare(DType::I64, &[], &big, &bigger, Tolerance::EXACT).wrong, 1);
    }

    #[test]
    fn the_absolute_tolerance_grows_with_the_largest_expected_value() {
        let expected = f32s(&[500.0, 0.0]);
        let found = compare(DType::F32, &[2], &f32s(&[500.0, 0.04]), &expected, Tolerance::of(DType::F32));
        assert_eq!(found.wrong, 0);
        assert!((found.allowed.atol - 0.05).abs() < 1e-9);
    }

    #[test]
    fn the_absolute_tolerance_is_bounded() {
        let tolerance = Tolerance::of(DType::F32);
        let wrong = |expected: &[f32], got: &[f32]| {
            compare(DType::F32, &[expected.len() as u64], &f32s(got), &f32s(expected), tolerance).wrong
        };
        // A million in a tensor allows no more than a thousand does: 0.1 beside it.
        assert_eq!(wrong(&[1e6, 0.0], &[1e6, 0.05]), 0);
        assert_eq!(wrong(&[1e6, 0.0], &[1e6, 0.2]), 1);
        // Small values allow no less than ones do.
        assert_eq!(wrong(&[1e-3, 0.0], &[1e-3, 9e-5]), 0);
        assert_eq!(wrong(&[1e-3, 0.0], &[1e-3, 2e-4]), 1);
    }

    #[test]
    fn a_comparison_that_zeros_would_pass_is_known() {
        let compare = |values: &[f32]| {
            let bytes = f32s(values);
            compare(DType::F32, &[values.len() as u64], &bytes, &bytes, Tolerance::of(DType::F32))
        };
        assert!(compare(&[0.0, 1e-9]).is_vacuous());
        assert!(!compare(&[0.0, 1e-3]).is_vacuous());
        assert!(!compare(&[]).is_vacuous());
    }

    #[test]
    fn scalars_and_empty_tensors_compare() {
        let one = 1.5f64.to_le_bytes();
        let wrong = compare(DType::F64, &[], &2.5f64.to_le_bytes(), &one, Tolerance::of(DType::F64));
        assert_eq!(wrong.first.map(|w| w.index), Some(vec![]));
        assert_eq!(compare(DType::F32, &[0, 3], &[], &[], Tolerance::EXACT).wrong, 0);
    }
}
