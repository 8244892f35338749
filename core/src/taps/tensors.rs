//! The distance of two tensors.

use crate::compare::{Difference, Tolerance, compare};
use crate::run::Computed;
use crate::tensor::DType;
use crate::{ops, taps::growth};

/// The difference of a tensor from another one.
#[derive(Clone, Debug)]
pub struct Distance {
    /// The comparison; `None` if the shapes differ, or elements of these types cannot be compared.
    pub difference: Option<Difference>,
    /// The error as [`Row::error`](super::Row::error) states it.
    pub error: f64,
}

impl Distance {
    const NONE: Self = Self { difference: None, error: 1.0 };

    /// Converts the result of a comparison of tensors of one type.
    pub(super) fn from_difference(dtype: DType, found: Difference) -> Self {
        let error = error(dtype, &found);
        Self { difference: Some(found), error }
    }
}

/// Returns the distance of `got` from `expected`. If the element types differ, numbers are compared.
pub fn distance(got: &Computed, expected: &Computed) -> Distance {
    if got.shape != expected.shape {
        return Distance::NONE;
    }
    if got.dtype == expected.dtype {
        let found = compare(got.dtype, &got.shape, &got.bytes, &expected.bytes, Tolerance::EXACT);
        return Distance::from_difference(got.dtype, found);
    }
    let wide = |tensor: &Computed| {
        let shape = tensor.shape.iter().map(|d| usize::try_from(*d).ok()).collect::<Option<Vec<_>>>()?;
        let packed = ops::Tensor::packed(tensor.dtype, shape, tensor.bytes.clone()).ok()?;
        let numbers = match packed.elements() {
            ops::Elements::Bool(items) => items.into_iter().map(|b| f64::from(u8::from(b))).collect(),
            ops::Elements::Int(items) => items.into_iter().map(|n| n as f64).collect(),
            ops::Elements::Float(items) => items,
            ops::Elements::Complex(_) | ops::Elements::Text(_) => return None,
        };
        Some(numbers.iter().flat_map(|x: &f64| x.to_le_bytes()).collect::<Vec<u8>>())
    };
    let (Some(a), Some(b)) = (wide(got), wide(expected)) else { return Distance::NONE };
    Distance::from_difference(DType::F64, compare(DType::F64, &got.shape, &a, &b, Tolerance::EXACT))
}

/// Returns the error of a comparison, independent of the magnitude of the tensors.
fn error(dtype: DType, found: &Difference) -> f64 {
    if found.wrong == 0 {
        return 0.0;
    }
    if found.not_finite > 0 {
        return 1.0;
    }
    if growth::unit(dtype) == 0.0 {
        return found.wrong as f64 / found.elements.max(1) as f64;
    }
    // All expected values are zero: there is nothing to relate the error to.
    if found.largest > 0.0 { found.max_abs / found.largest } else { 1.0 }
}
