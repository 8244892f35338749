//! Sums, products and powers.

use onnxport_sdk::prelude::*;

use crate::complex::Complex;
use crate::support::{is_infinite, node, scaled, select};

/// `alpha * x` for an operand; a constant is multiplied here.
fn times(cx: &Lower, x: &Operand, alpha: &Scalar, dtype: DType) -> Value {
    match (x, alpha) {
        (_, alpha) if alpha.is(1.0) => cx.operand(x, dtype),
        (Operand::Number(Scalar::Int(n)), Scalar::Int(k)) if n.checked_mul(*k).is_some() => {
            cx.number(&Scalar::Int(n * k), dtype)
        }
        (Operand::Number(Scalar::Float(n)), Scalar::Int(_) | Scalar::Float(_)) => {
            cx.number(&Scalar::Float(n * alpha.as_f64().unwrap_or(1.0)), dtype)
        }
        _ => product(cx.operand(x, dtype), cx.number(alpha, dtype), dtype),
    }
}

/// `Mul`; of truth values `And`.
pub(crate) fn product(a: Value, b: Value, dtype: DType) -> Value {
    if dtype == DType::Bool { a & b } else { a * b }
}

/// `self + alpha * other`; of truth values it is `or`.
#[lowering("aten.add.Tensor", "prims.add.default", "aten.add.Scalar")]
fn add(cx: &Lower, a: Operand, b: Operand, alpha: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b) = (cx.operand(&a, dtype), times(cx, &b, &alpha, dtype));
    Ok(if dtype == DType::Bool { a | b } else { a + b })
}

/// `max(self + alpha * other, 0)`.
#[lowering("aten._add_relu.Tensor", "aten._add_relu.Scalar")]
fn add_relu(cx: &Lower, a: Operand, b: Operand, alpha: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(node(cx, op::Max, &[add(cx, a, b, alpha)?, cx.float(0.0, dtype)], dtype))
}

/// `self - alpha * other`.
#[lowering(
    "aten.sub.Tensor",
    "prims.sub.default",
    "aten.sub.Scalar",
    "aten.subtract.Tensor",
    "aten.subtract.Scalar"
)]
fn sub(cx: &Lower, a: Operand, b: Operand, alpha: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.operand(&a, dtype) - times(cx, &b, &alpha, dtype))
}

/// `other - alpha * self`.
#[lowering("aten.rsub.Tensor", "aten.rsub.Scalar")]
fn rsub(cx: &Lower, a: Operand, b: Operand, alpha: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let a = times(cx, &a, &alpha, dtype);
    Ok(cx.operand(&b, dtype) - a)
}

/// `self * other`; of truth values it is `and`.
#[lowering(
    "aten.mul.Tensor",
    "prims.mul.default",
    "aten.mul.Scalar",
    "aten.multiply.Tensor",
    "aten.multiply.Scalar"
)]
fn mul(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(product(cx.operand(&a, dtype), cx.operand(&b, dtype), dtype))
}

/// `-self`; unsigned integers wrap.
#[lowering("aten.neg.default", "prims.neg.default", "aten.negative.default")]
fn neg(cx: &Lower, x: Value) -> Res<Value> {
    if cx.result(0)?.dtype == DType::U8 {
        return Ok(0.0 - x);
    }
    Ok(-x)
}

/// `self ^ exponent`, the operands cast to the type of the result.
pub(crate) fn power(cx: &Lower, a: &Operand, b: &Operand, dtype: DType) -> Value {
    if let Operand::Number(exponent) = b {
        let x = cx.operand(a, dtype);
        if exponent.is(1.0) {
            return x;
        }
        if exponent.is(0.5) {
            return cx.sqrt(x);
        }
        if exponent.is(-1.0) && dtype.is_float() {
            return cx.reciprocal(x);
        }
    }
    node(cx, op::Pow, &[cx.operand(a, dtype), cx.operand(b, dtype)], dtype)
}

/// `self ^ exponent`.
#[lowering(
    "aten.pow.Tensor_Tensor",
    "prims.pow.default",
    "aten.pow.Tensor_Scalar",
    "aten.pow.Scalar",
    "aten.float_power.Tensor_Tensor",
    "aten.float_power.Tensor_Scalar",
    "aten.float_power.Scalar"
)]
fn pow(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(power(cx, &a, &b, dtype))
}

/// `self * self`.
#[lowering("aten.square.default")]
fn square(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    Ok(x * x)
}

/// `self + value * tensor1 * tensor2`.
#[lowering("aten.addcmul.default")]
fn addcmul(cx: &Lower, x: Value, tensor1: Value, tensor2: Value, value: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let mut term = product(cx.cast(tensor1, dtype), cx.cast(tensor2, dtype), dtype);
    if !value.is(1.0) {
        term = product(term, cx.number(&value, dtype), dtype);
    }
    Ok(if dtype == DType::Bool { x | term } else { x + term })
}

/// `self + value * tensor1 / tensor2`.
#[lowering("aten.addcdiv.default")]
fn addcdiv(cx: &Lower, x: Value, tensor1: Value, tensor2: Value, value: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let mut term = cx.cast(tensor1, dtype) / cx.cast(tensor2, dtype);
    if !value.is(1.0) {
        term = term * value;
    }
    Ok(x + term)
}

/// `self + weight * (end - self)`, from the nearer end as in PyTorch.
#[lowering("aten.lerp.Scalar", "aten.lerp.Tensor")]
fn lerp(cx: &Lower, x: Value, end: Value, weight: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (x, end) = (cx.cast(x, dtype), cx.cast(end, dtype));
    if let Operand::Number(number) = &weight
        && let Some(weight) = number.as_f64()
    {
        let near = weight.abs() < 0.5;
        return Ok(if near { x + (end - x) * weight } else { end - (end - x) * (1.0 - weight) });
    }
    let weight = cx.operand(&weight, dtype);
    let difference = end - x;
    let (near, far) = (x + difference * weight, end - difference * (1.0 - weight));
    Ok(cx.select(cx.less(cx.abs(weight), 0.5), near, far))
}

/// `self * 2 ^ other`.
#[lowering("aten.ldexp.Tensor")]
fn ldexp(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b) = (cx.operand(&a, dtype), cx.operand(&b, dtype));
    Ok(a * cx.pow(2.0, b))
}

/// `sqrt(self^2 + other^2)`.
#[lowering("aten.hypot.default", "prims.hypot.default")]
fn hypot(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    // The squares may be too large for the type where the root is not, and for float64 as well.
    let (a, b) = (cx.cast(a, DType::F64), cx.cast(b, DType::F64));
    if dtype == DType::F64 {
        let infinite = is_infinite(cx, a) | is_infinite(cx, b);
        return Ok(cx.select(infinite, f64::INFINITY, Complex { re: a, im: b }.size(cx)));
    }
    // The distance of an infinite number and NaN is infinite.
    let infinite = is_infinite(cx, a) | is_infinite(cx, b);
    Ok(cx.cast(select(cx, infinite, f64::INFINITY, cx.sqrt(a * a + b * b), DType::F64), dtype))
}

/// Degrees as radians.
#[lowering("aten.deg2rad.default")]
fn deg2rad(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(scaled(cx.cast(x, dtype), std::f64::consts::PI / 180.0))
}

/// Radians as degrees.
#[lowering("aten.rad2deg.default")]
fn rad2deg(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(scaled(cx.cast(x, dtype), 180.0 / std::f64::consts::PI))
}
