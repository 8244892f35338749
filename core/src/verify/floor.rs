//! The noise of a computation: how far its results are from those of the same computation in float64.
//!
//! A model that computes the same in another order differs by about as much. Sums of another order, fused operators and
//! other approximations of functions make that some times more; a wrong axis, a lost bias or a lost cast make it
//! thousands of times more.

use schemars::JsonSchema;
use serde::Serialize;

use crate::compare::Tolerance;
use crate::tensor::{DType, LazyTensor};

use super::values::numbers;

/// How many times the noise a result may be off. Of the models of the tests those that are right are off by up to 3.5 times
/// theirs in recorded calls, and by up to 8.1 times in drawn ones whose inputs are not larger than [`LONG`].
pub const MULTIPLE: f64 = 32.0;

/// How many times the noise a result may be off where the tolerance of its type does not accept it. Right models of the
/// tests need up to 2.4.
const EXPLAINED: f64 = 8.0;

/// How many times the absolute tolerance of a type noise explains at most. A program that rounds more than that decides
/// by rounding, as by a comparison or a code, and its noise hides faults.
const CREDIBLE: f64 = 10.0;

/// How many elements the inputs of a call have before sums over them count. PyTorch sums by pairs and other runtimes in
/// order, whose error grows with the square root of the number of terms; up to 125 times the noise for a million.
const LONG: f64 = 65536.0;

/// The noise of an output, and the tolerance that follows.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Floor {
    /// The largest distance of an element from that of float64, at least half a unit in the last place of the largest.
    pub noise: f64,
    /// The largest difference that is allowed.
    pub bound: f64,
}

impl Floor {
    /// That of the elements of `narrow`, of a floating-point type of fewer bits, whose values in float64 are `wide`.
    /// `None` where these are not of the same shape, or nothing is finite in both. The inputs of the call have so many
    /// `elements`.
    pub(super) fn between(narrow: &LazyTensor, wide: &LazyTensor, elements: u64) -> Option<Self> {
        if narrow.shape != wide.shape || wide.dtype != DType::F64 {
            return None;
        }
        let (narrow_elements, wide) = (numbers(narrow)?, numbers(wide)?);
        let finite = narrow_elements.iter().zip(&wide).filter(|(a, b)| a.is_finite() && b.is_finite());
        let mut found = None;
        for (a, b) in finite {
            let (noise, largest) = found.unwrap_or((0.0f64, 0.0f64));
            found = Some((noise.max((a - b).abs()), largest.max(b.abs())));
        }
        let (noise, largest) = found?;
        let noise = noise.max(largest * unit(narrow.dtype)? / 2.0);
        let growth = (elements as f64 / LONG).sqrt().max(1.0);
        Some(Self { noise, bound: noise * MULTIPLE * growth })
    }

    /// As a tolerance for a tensor whose largest finite expected magnitude is `largest`.
    pub(super) fn tolerance(self, largest: f64) -> Tolerance {
        Tolerance { rtol: 0.0, atol: self.bound / Tolerance::factor(largest) }
    }

    /// The difference that the noise explains in a tensor which exceeds the tolerance of its type.
    pub(super) fn explained(self, dtype: DType, largest: f64) -> Tolerance {
        let Tolerance { atol, .. } = self.tolerance(largest);
        let credible = Tolerance::of(dtype).atol * CREDIBLE;
        Tolerance { rtol: 0.0, atol: (atol * EXPLAINED / MULTIPLE).min(credible) }
    }
}

/// The distance from 1 to the next number, of types for which float64 is more.
fn unit(dtype: DType) -> Option<f64> {
    Some(match dtype {
        DType::F32 => f32::EPSILON.into(),
        DType::F16 => half::f16::EPSILON.to_f64(),
        DType::BF16 => half::bf16::EPSILON.to_f64(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f64s(values: &[f64]) -> LazyTensor {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        LazyTensor::inline(DType::F64, vec![values.len() as u64], bytes)
    }

    fn f32s(values: &[f32]) -> LazyTensor {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        LazyTensor::inline(DType::F32, vec![values.len() as u64], bytes)
    }

    #[test]
    fn the_noise_is_the_largest_distance_of_what_is_finite() {
        let floor = Floor::between(&f32s(&[1.5, 3.0, f32::NAN]), &f64s(&[1.0, 3.0, 1.0]), 3).unwrap();
        assert_eq!((floor.noise, floor.bound), (0.5, 0.5 * MULTIPLE));
        let long = Floor::between(&f32s(&[1.5]), &f64s(&[1.0]), 1 << 20).unwrap();
        assert_eq!((long.noise, long.bound), (0.5, 2.0 * MULTIPLE));
        // A value that is exact by chance is still rounded.
        let floor = Floor::between(&f32s(&[8.0, 1.0]), &f64s(&[8.0, 1.0]), 2).unwrap();
        assert_eq!(floor.noise, 4.0 * f64::from(f32::EPSILON));
        assert!(Floor::between(&f32s(&[f32::NAN]), &f64s(&[1.0]), 1).is_none());
        assert!(Floor::between(&f32s(&[1.0]), &f64s(&[1.0, 2.0]), 1).is_none());
        assert!(Floor::between(&f32s(&[1.0]), &f32s(&[1.0]), 1).is_none());
    }

    #[test]
    fn the_tolerance_is_the_bound_whatever_the_largest_value() {
        let floor = Floor { noise: 0.25, bound: 8.0 };
        for largest in [0.0, 0.5, 7.0, 1e6] {
            let tolerance = floor.tolerance(largest);
            let allowed = tolerance.atol * Tolerance::factor(largest);
            assert!((allowed - 8.0).abs() < 1e-12 && tolerance.rtol == 0.0);
        }
    }

    #[test]
    fn noise_explains_a_quarter_of_its_bound_and_ten_tolerances() {
        let allowed = |noise: f64, largest| {
            let floor = Floor { noise, bound: noise * MULTIPLE };
            floor.explained(DType::F32, largest).atol * Tolerance::factor(largest)
        };
        assert!((allowed(1e-5, 1.0) - 8e-5).abs() < 1e-12);
        assert!((allowed(1e-5, 20.0) - 8e-5).abs() < 1e-12);
        assert!((allowed(0.5, 1.0) - 1e-3).abs() < 1e-12);
    }
}
