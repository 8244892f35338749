//! Comparison of numbers.

use super::Tensor;

/// How far two numbers may be apart: `|actual - expected| <= absolute + relative * |expected|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The part that does not depend on the number.
    pub absolute: f64,
    /// The part that grows with it.
    pub relative: f64,
}

impl Tolerance {
    /// No difference at all.
    pub const EXACT: Self = Self { absolute: 0.0, relative: 0.0 };
}

impl Default for Tolerance {
    /// The tolerances of PyTorch's `assert_close` for f32: 1e-5 and 1.3e-6.
    fn default() -> Self {
        Self { absolute: 1e-5, relative: 1.3e-6 }
    }
}

/// Fails the test unless the tensors have one type and shape and their elements are close. NaN is
/// close to NaN, an infinity to the same one.
///
/// # Panics
/// Names the first element that differs, the largest difference and how many differ.
#[track_caller]
pub fn assert_close(actual: &Tensor, expected: &Tensor, tolerance: Tolerance) {
    if let Some(difference) = difference(actual, expected, tolerance) {
        panic!("{difference}");
    }
}

fn difference(actual: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Option<String> {
    if actual.dtype() != expected.dtype() || actual.shape() != expected.shape() {
        return Some(format!(
            "expected {}{:?}, found {}{:?}",
            expected.dtype(),
            expected.shape(),
            actual.dtype(),
            actual.shape()
        ));
    }
    let (found, wanted) = (actual.to_f64(), expected.to_f64());
    let apart = |(a, e): (f64, f64)| {
        if a == e || (a.is_nan() && e.is_nan()) {
            0.0
        } else if a.is_finite() && e.is_finite() {
            let difference = (a - e).abs();
            if difference <= tolerance.absolute + tolerance.relative * e.abs() { 0.0 } else { difference }
        } else {
            f64::INFINITY
        }
    };
    let apart: Vec<f64> = found.iter().copied().zip(wanted.iter().copied()).map(apart).collect();
    let count = apart.iter().filter(|d| **d > 0.0).count();
    let first = apart.iter().position(|d| *d > 0.0)?;
    let largest = apart.iter().copied().fold(0.0, f64::max);
    let Tolerance { absolute, relative } = tolerance;
    Some(format!(
        "{count} of {} elements differ by up to {largest:e} (allowed: {absolute:e} + {relative:e} * |expected|); \
         the first at {:?}: expected {}, found {}",
        apart.len(),
        place(first, expected.shape()),
        wanted[first],
        found[first],
    ))
}

/// The index of element `position`, per axis.
fn place(mut position: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (slot, extent) in index.iter_mut().zip(shape).rev() {
        *slot = position % extent.max(&1);
        position /= extent.max(&1);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::{Tensor, Tolerance, difference};

    #[test]
    fn what_differs_is_said() {
        let expected = Tensor::f32([2, 2], [1.0, f32::NAN, 3.0, f32::INFINITY]);
        assert_eq!(difference(&expected, &expected, Tolerance::EXACT), None);
        let actual = Tensor::f32([2, 2], [1.0, f32::NAN, 3.5, f32::INFINITY]);
        let text = difference(&actual, &expected, Tolerance::default()).unwrap();
        assert_eq!(
            text,
            "1 of 4 elements differ by up to 5e-1 (allowed: 1e-5 + 1.3e-6 * |expected|); \
             the first at [1, 0]: expected 3, found 3.5"
        );
        let other = Tensor::f64([4], [0.0; 4]);
        let text = difference(&other, &expected, Tolerance::default()).unwrap();
        assert_eq!(text, "expected f32[2, 2], found f64[4]");
    }
}
