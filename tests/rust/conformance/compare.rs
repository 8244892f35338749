//! Comparison of results with expected values.

use onnxport_ir::ops::{Elements, Tensor, Value};
use onnxport_ir::tensor::DType;

/// How close two values are; the first is the closest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Close {
    Exact,
    /// Relative 1e-5, absolute 1e-7; one unit in the last place for floats of 16 bits and fewer.
    Tight,
    /// Relative 1e-3, absolute 1e-7, which the tests themselves ask for; two units in the last place for floats of 16
    /// bits, which the reference rounds after each step.
    Loose,
}

/// Compares two values of one type.
pub(crate) fn compare(found: &Value, expected: &Value) -> Result<Close, String> {
    match (found, expected) {
        (Value::Tensor(found), Value::Tensor(expected)) => tensors(found, expected),
        (Value::Sequence(_, found), Value::Sequence(_, expected)) if found.len() == expected.len() => {
            let mut each = found.iter().zip(expected).map(|(a, b)| compare(a, b));
            each.try_fold(Close::Exact, |worst, close| Ok(worst.max(close?)))
        }
        (Value::Optional(None), Value::Optional(None)) => Ok(Close::Exact),
        (Value::Optional(Some(found)), Value::Optional(Some(expected))) => compare(found, expected),
        // A file of an optional holds its value.
        (Value::Optional(Some(found)), expected) => compare(found, expected),
        (found, Value::Optional(Some(expected))) => compare(found, expected),
        (found, expected) => Err(format!("{} in place of {}", found.describe(), expected.describe())),
    }
}

/// Whether two values have one type and shape, whatever they hold.
pub(crate) fn same_type(found: &Value, expected: &Value) -> Result<Close, String> {
    if found.describe() == expected.describe() {
        return Ok(Close::Loose);
    }
    Err(format!("{} in place of {}", found.describe(), expected.describe()))
}

fn tensors(found: &Tensor, expected: &Tensor) -> Result<Close, String> {
    if found.dtype() != expected.dtype() || found.shape() != expected.shape() {
        return Err(format!("{} in place of {}", found.describe(), expected.describe()));
    }
    if found == expected {
        return Ok(Close::Exact);
    }
    let (a, b): (Vec<f64>, Vec<f64>) = match (found.elements(), expected.elements()) {
        (Elements::Complex(a), Elements::Complex(b)) => (a.into_flattened(), b.into_flattened()),
        (Elements::Float(a), Elements::Float(b)) => (a, b),
        (Elements::Int(a), Elements::Int(b)) => {
            (a.iter().map(|n| *n as f64).collect(), b.iter().map(|n| *n as f64).collect())
        }
        (a, b) => return Err(format!("{a:?} in place of {b:?}")),
    };
    let tight = match found.dtype() {
        DType::F16 => 1e-3,
        DType::BF16 => 8e-3,
        DType::F32 | DType::F64 | DType::C64 | DType::C128 => 1e-5,
        _ => 0.0,
    };
    let loose = match found.dtype() {
        DType::F16 => 2e-3,
        DType::BF16 => 1.6e-2,
        _ => 1e-3,
    };
    let mut worst = Close::Exact;
    for (index, (a, b)) in a.iter().zip(&b).enumerate() {
        let within =
            |rtol: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-7 + rtol * b.abs();
        let close = match () {
            () if within(0.0) => Close::Exact,
            () if within(tight) => Close::Tight,
            () if within(loose) => Close::Loose,
            () => return Err(format!("element {index} is {a} in place of {b}, of {}", found.describe())),
        };
        worst = worst.max(close);
    }
    Ok(worst)
}
