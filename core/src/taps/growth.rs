//! The bound on the error of a value, above which it is a suspect.
//!
//! Two correct implementations round differently in every node, and nodes pass on the errors of their inputs. So the
//! bound grows along the graph: `allowed = FLOOR * unit + GROWTH * error of the inputs`, where `unit` is half a unit in
//! the last place of the value's type, and errors are relative to the largest magnitude of their tensors. A node that
//! amplifies its inputs (a subtraction of nearly equal values) may exceed it; it is a suspect then, and the bisection
//! clears it by computing it in isolation, on the reference's inputs.

use crate::tensor::DType;

/// The error allowed for a single node, in units of rounding.
pub const FLOOR: f64 = 64.0;

/// By how much a node may amplify the error of its inputs before it is suspect.
pub const GROWTH: f64 = 4.0;

/// Returns half a unit in the last place of 1, the largest error of one rounding to this type; 0 if the type is not
/// rounded.
pub fn unit(dtype: DType) -> f64 {
    match dtype {
        DType::F64 | DType::C128 => f64::EPSILON / 2.0,
        DType::F32 | DType::C64 => f64::from(f32::EPSILON) / 2.0,
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        DType::F8E4M3FN | DType::F8E4M3FNUZ => 2f64.powi(-4),
        DType::F8E5M2 | DType::F8E5M2FNUZ => 2f64.powi(-3),
        _ => 0.0,
    }
}

/// Returns the largest error that does not raise suspicion.
pub(super) fn allowed(dtype: DType, inputs: f64) -> f64 {
    FLOOR * unit(dtype) + GROWTH * inputs
}
