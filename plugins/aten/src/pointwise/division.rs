//! Quotients and remainders.

use onnxport_sdk::prelude::*;

use crate::support::{floor_div_int, is_infinite, select, trunc};

/// Whether a divisor is a constant other than zero.
fn nonzero(cx: &Lower, b: Value) -> bool {
    cx.literal(b).and_then(|l| l.floats()).is_some_and(|v| v.iter().all(|x| *x != 0.0))
}

/// `self / other` in the type of the result.
#[lowering(
    "aten.div.Tensor",
    "prims.div.default",
    "aten.div.Scalar",
    "aten.divide.Tensor",
    "aten.divide.Scalar"
)]
fn div(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.operand(&a, dtype) / cx.operand(&b, dtype))
}

/// `self / other` in the type of the result.
#[lowering("aten.true_divide.Tensor", "aten.true_divide.Scalar")]
fn true_divide(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    div(cx, a, b)
}

/// `floor(a / b)` of two values of `dtype`.
///
/// A quotient of `f32` that rounds up to an integer would be one too large (`1 // 0.1` is 9): it is
/// taken in `f64`, which tells every such quotient from the integer, and that of `f64` is
/// `(a - a mod b) / b`.
pub(crate) fn floor_div(cx: &Lower, a: Value, b: Value, dtype: DType) -> Value {
    if !dtype.is_float() {
        return floor_div_int(cx, a, b, dtype);
    }
    if dtype != DType::F64 {
        let (a, mut divisor) = (cx.cast(a, DType::F64), cx.cast(b, DType::F64));
        if !nonzero(cx, b) {
            // The quotient of 1 and minus infinity is rounded to -1.
            divisor = cx.select(is_infinite(cx, divisor), cx.sign(divisor) * f64::MAX, divisor);
        }
        return cx.cast(cx.floor(a / divisor), dtype);
    }
    let floor = cx.round((a - remainder_of(cx, a, b, dtype)) / b);
    if nonzero(cx, b) {
        return floor;
    }
    let infinite = a / b;
    cx.select(cx.equal(b, 0.0), infinite, floor)
}

/// `a mod b` with the sign of `b`, for two values of `dtype`.
pub(crate) fn remainder_of(cx: &Lower, a: Value, b: Value, dtype: DType) -> Value {
    if !dtype.is_float() {
        return cx.modulo(a, b, false);
    }
    let rest = cx.modulo(a, b, true);
    let other = rest + b;
    let zero = cx.float(0.0, dtype);
    let sign = cx.literal(b).and_then(|l| l.floats()).and_then(|v| v.first().copied());
    let differs = match sign {
        Some(b) if b > 0.0 => cx.less(rest, zero),
        Some(b) if b < 0.0 => cx.greater(rest, zero),
        _ => cx.less(rest * cx.sign(b), zero),
    };
    select(cx, differs, other, rest, dtype)
}

/// `self / other`, rounded as `rounding_mode` says.
#[lowering(
    "aten.div.Tensor_mode",
    "aten.div.Scalar_mode",
    "aten.divide.Tensor_mode",
    "aten.divide.Scalar_mode"
)]
fn div_mode(cx: &Lower, a: Operand, b: Operand, rounding_mode: Option<Str>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b) = (cx.operand(&a, dtype), cx.operand(&b, dtype));
    Ok(match rounding_mode.map(|m| m.0) {
        None => a / b,
        Some("floor") => floor_div(cx, a, b, dtype),
        Some("trunc") => {
            let quotient = a / b;
            if dtype.is_float() { trunc(cx, quotient) } else { quotient }
        }
        Some(mode) => return Err(format!("rounding_mode `{mode}` is not one of floor and trunc").into()),
    })
}

/// `floor(self / other)`.
#[lowering("aten.floor_divide.default", "aten.floor_divide.Scalar")]
fn floor_divide(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(floor_div(cx, cx.operand(&a, dtype), cx.operand(&b, dtype), dtype))
}

/// `self mod other` with the sign of `other`.
#[lowering(
    "aten.remainder.Tensor",
    "prims.remainder.default",
    "aten.remainder.Scalar",
    "aten.remainder.Scalar_Tensor"
)]
fn remainder(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(remainder_of(cx, cx.operand(&a, dtype), cx.operand(&b, dtype), dtype))
}

/// `self mod other` with the sign of `self`.
#[lowering("aten.fmod.Tensor", "prims.fmod.default", "aten.fmod.Scalar")]
fn fmod(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.modulo(cx.operand(&a, dtype), cx.operand(&b, dtype), true))
}
