//! Sums, products and powers.

use onnxport_sdk::prelude::*;

use crate::support::{constant, node, scaled};

/// `alpha * x` for an operand; a constant is multiplied here.
fn times(cx: &mut Lower, x: &Operand, alpha: &Scalar, dtype: DType) -> Value {
    match (x, alpha) {
        (_, alpha) if alpha.is(1.0) => cx.operand(x, dtype),
        (Operand::Number(Scalar::Int(n)), Scalar::Int(k)) if n.checked_mul(*k).is_some() => {
            cx.number(&Scalar::Int(n * k), dtype)
        }
        (Operand::Number(Scalar::Float(n)), Scalar::Int(_) | Scalar::Float(_)) => {
            cx.number(&Scalar::Float(n * alpha.as_f64().unwrap_or(1.0)), dtype)
        }
        _ => {
            let (x, factor) = (cx.operand(x, dtype), cx.number(alpha, dtype));
            product(cx, x, factor, dtype)
        }
    }
}

/// `Mul`; of truth values `And`.
pub(crate) fn product(cx: &mut Lower, a: Value, b: Value, dtype: DType) -> Value {
    if dtype == DType::Bool { cx.and(a, b) } else { cx.mul(a, b) }
}

/// `self + alpha * other`; of truth values it is `or`.
#[lowering("aten.add.Tensor", "prims.add.default", "aten.add.Scalar")]
fn add(cx: &mut Lower, a: Operand, b: Operand, alpha: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b) = (cx.operand(&a, dtype), times(cx, &b, &alpha, dtype));
    Ok(if dtype == DType::Bool { cx.or(a, b) } else { cx.add(a, b) })
}

/// `max(self + alpha * other, 0)`.
#[lowering("aten._add_relu.Tensor", "aten._add_relu.Scalar")]
fn add_relu(cx: &mut Lower, a: Operand, b: Operand, alpha: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (sum, zero) = (add(cx, a, b, alpha)?, constant(cx, 0.0, dtype));
    Ok(node(cx, "Max", &[sum, zero], dtype))
}

/// `self - alpha * other`.
#[lowering(
    "aten.sub.Tensor",
    "prims.sub.default",
    "aten.sub.Scalar",
    "aten.subtract.Tensor",
    "aten.subtract.Scalar"
)]
fn sub(cx: &mut Lower, a: Operand, b: Operand, alpha: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b) = (cx.operand(&a, dtype), times(cx, &b, &alpha, dtype));
    Ok(cx.sub(a, b))
}

/// `other - alpha * self`.
#[lowering("aten.rsub.Tensor", "aten.rsub.Scalar")]
fn rsub(cx: &mut Lower, a: Operand, b: Operand, alpha: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b) = (times(cx, &a, &alpha, dtype), cx.operand(&b, dtype));
    Ok(cx.sub(b, a))
}

/// `self * other`; of truth values it is `and`.
#[lowering(
    "aten.mul.Tensor",
    "prims.mul.default",
    "aten.mul.Scalar",
    "aten.multiply.Tensor",
    "aten.multiply.Scalar"
)]
fn mul(cx: &mut Lower, a: Operand, b: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b) = (cx.operand(&a, dtype), cx.operand(&b, dtype));
    Ok(product(cx, a, b, dtype))
}

/// `-self`; unsigned integers wrap.
#[lowering("aten.neg.default", "prims.neg.default", "aten.negative.default")]
fn neg(cx: &mut Lower, x: Value) -> Res<Value> {
    if cx.result(0)?.dtype == DType::U8 {
        let zero = constant(cx, 0.0, DType::U8);
        return Ok(cx.sub(zero, x));
    }
    Ok(cx.neg(x))
}

/// `self ^ exponent`, the operands cast to the type of the result.
pub(crate) fn power(cx: &mut Lower, a: &Operand, b: &Operand, dtype: DType) -> Value {
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
    let (a, b) = (cx.operand(a, dtype), cx.operand(b, dtype));
    node(cx, "Pow", &[a, b], dtype)
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
fn pow(cx: &mut Lower, a: Operand, b: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(power(cx, &a, &b, dtype))
}

/// `self * self`.
#[lowering("aten.square.default")]
fn square(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    Ok(cx.mul(x, x))
}

/// `self + value * tensor1 * tensor2`.
#[lowering("aten.addcmul.default")]
fn addcmul(cx: &mut Lower, x: Value, tensor1: Value, tensor2: Value, value: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (x, a, b) = (cx.cast(x, dtype), cx.cast(tensor1, dtype), cx.cast(tensor2, dtype));
    let mut term = product(cx, a, b, dtype);
    if !value.is(1.0) {
        let value = cx.number(&value, dtype);
        term = product(cx, term, value, dtype);
    }
    Ok(if dtype == DType::Bool { cx.or(x, term) } else { cx.add(x, term) })
}

/// `self + value * tensor1 / tensor2`.
#[lowering("aten.addcdiv.default")]
fn addcdiv(cx: &mut Lower, x: Value, tensor1: Value, tensor2: Value, value: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (x, a, b) = (cx.cast(x, dtype), cx.cast(tensor1, dtype), cx.cast(tensor2, dtype));
    let mut term = cx.div(a, b);
    if !value.is(1.0) {
        let value = cx.number(&value, dtype);
        term = cx.mul(term, value);
    }
    Ok(cx.add(x, term))
}

/// `self + weight * (end - self)`.
#[lowering("aten.lerp.Scalar", "aten.lerp.Tensor")]
fn lerp(cx: &mut Lower, x: Value, end: Value, weight: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (x, end, weight) = (cx.cast(x, dtype), cx.cast(end, dtype), cx.operand(&weight, dtype));
    let distance = cx.sub(end, x);
    let step = cx.mul(distance, weight);
    Ok(cx.add(x, step))
}

/// `self * 2 ^ other`.
#[lowering("aten.ldexp.Tensor")]
fn ldexp(cx: &mut Lower, a: Operand, b: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b, two) = (cx.operand(&a, dtype), cx.operand(&b, dtype), constant(cx, 2.0, dtype));
    let factor = cx.pow(two, b);
    Ok(cx.mul(a, factor))
}

/// `sqrt(self^2 + other^2)`.
#[lowering("aten.hypot.default", "prims.hypot.default")]
fn hypot(cx: &mut Lower, a: Value, b: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    // The squares may be too large for the type where the root is not.
    let (a, b) = (cx.cast(a, DType::F64), cx.cast(b, DType::F64));
    let (a, b) = (cx.mul(a, a), cx.mul(b, b));
    let sum = cx.add(a, b);
    let root = cx.sqrt(sum);
    Ok(cx.cast(root, dtype))
}

/// Degrees as radians.
#[lowering("aten.deg2rad.default")]
fn deg2rad(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    Ok(scaled(cx, x, std::f64::consts::PI / 180.0, dtype))
}

/// Radians as degrees.
#[lowering("aten.rad2deg.default")]
fn rad2deg(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    Ok(scaled(cx, x, 180.0 / std::f64::consts::PI, dtype))
}
