//! Choices by condition, and tests of floats.

use onnxport_sdk::prelude::*;

use crate::support::{constant, full, kernel_type, select};

/// `self` where `condition`, else `other`.
#[lowering("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar")]
fn choose(cx: &mut Lower, condition: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    // The first argument is the condition, so the other two are read by their names in the schema.
    let (a, b) = (operand_called(cx, "self")?, operand_called(cx, "other")?);
    let (a, b) = (cx.operand(&a, dtype), cx.operand(&b, dtype));
    let condition = cx.cast(condition, DType::Bool);
    Ok(select(cx, condition, a, b, dtype))
}

/// `a` where `pred`, else `b`.
#[lowering("prims.where.default")]
fn choose_prim(cx: &mut Lower, pred: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b) = (operand_called(cx, "a")?, operand_called(cx, "b")?);
    let (a, b) = (cx.operand(&a, dtype), cx.operand(&b, dtype));
    Ok(select(cx, pred, a, b, dtype))
}

fn operand_called(cx: &mut Lower, name: &str) -> Res<Operand> {
    cx.argument::<Operand>(name)
}

/// `value` where `mask`, else `self`.
#[lowering("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")]
fn masked_fill(cx: &mut Lower, x: Value, mask: Value, value: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (x, value, mask) = (cx.cast(x, dtype), cx.operand(&value, dtype), cx.cast(mask, DType::Bool));
    Ok(select(cx, mask, value, x, dtype))
}

/// A tensor of the result's shape with the same truth value everywhere.
fn everywhere(cx: &mut Lower, truth: bool) -> Res<Value> {
    let shape = cx.result(0)?.shape;
    Ok(full(cx, &shape, &Scalar::Bool(truth), DType::Bool))
}

/// Whether it is not a number; integers are.
#[lowering("aten.isnan.default")]
fn isnan(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if !dtype.is_float() {
        return everywhere(cx, false);
    }
    let kernel = kernel_type(cx, "IsNaN", dtype);
    let x = cx.cast(x, kernel);
    Ok(cx.is_nan(x))
}

/// Whether it is infinite; integers are not.
#[lowering("aten.isinf.default")]
fn isinf(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if !dtype.is_float() {
        return everywhere(cx, false);
    }
    let kernel = kernel_type(cx, "IsInf", dtype);
    let x = cx.cast(x, kernel);
    Ok(cx.op("IsInf").input(x).one())
}

/// `|x| < infinity`, which NaN is not.
#[lowering("aten.isfinite.default", "prims.isfinite.default")]
fn isfinite(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if !dtype.is_float() {
        return everywhere(cx, true);
    }
    let (size, infinity) = (cx.abs(x), constant(cx, f64::INFINITY, dtype));
    Ok(cx.less(size, infinity))
}

fn is_exactly(cx: &mut Lower, x: Value, number: f64) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if !dtype.is_float() {
        return everywhere(cx, false);
    }
    let number = constant(cx, number, dtype);
    Ok(cx.equal(x, number))
}

/// Whether it is infinity.
#[lowering("aten.isposinf.default")]
fn isposinf(cx: &mut Lower, x: Value) -> Res<Value> {
    is_exactly(cx, x, f64::INFINITY)
}

/// Whether it is minus infinity.
#[lowering("aten.isneginf.default")]
fn isneginf(cx: &mut Lower, x: Value) -> Res<Value> {
    is_exactly(cx, x, f64::NEG_INFINITY)
}

/// Whether it has no imaginary part.
#[lowering("aten.isreal.default")]
fn isreal(cx: &mut Lower, _x: Value) -> Res<Value> {
    everywhere(cx, true)
}

/// The largest finite number of a float type.
fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 65504.0,
        DType::BF16 => 3.389_531_389_251_535_5e38,
        DType::F32 => f64::from(f32::MAX),
        _ => f64::MAX,
    }
}

/// `self` with NaN and the infinities replaced; by zero and the largest finite numbers by default.
#[lowering("aten.nan_to_num.default")]
fn nan_to_num(
    cx: &mut Lower,
    x: Value,
    nan: Option<f64>,
    posinf: Option<f64>,
    neginf: Option<f64>,
) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if !dtype.is_float() {
        return Ok(x);
    }
    let kernel = kernel_type(cx, "IsNaN", dtype);
    let tested = cx.cast(x, kernel);
    let (is_nan, nan) = (cx.is_nan(tested), constant(cx, nan.unwrap_or(0.0), dtype));
    let number = cx.select(is_nan, nan, x);
    let limit = largest(dtype);
    if posinf.is_none() && neginf.is_none() {
        let (low, high) = (constant(cx, -limit, dtype), constant(cx, limit, dtype));
        return Ok(cx.clip(number, Some(low), Some(high)));
    }
    let mut y = number;
    for (infinity, finite) in
        [(f64::INFINITY, posinf.unwrap_or(limit)), (f64::NEG_INFINITY, neginf.unwrap_or(-limit))]
    {
        let (is, finite) = (is_exactly(cx, x, infinity)?, constant(cx, finite, dtype));
        y = cx.select(is, finite, y);
    }
    Ok(y)
}

/// Whether the sign of what has one is minus, also that of -0.
pub(super) fn is_below(cx: &mut Lower, x: Value, dtype: DType) -> Value {
    let zero = constant(cx, 0.0, dtype);
    let below = cx.less(x, zero);
    if !dtype.is_float() {
        return below;
    }
    let inverse = cx.reciprocal(x);
    let inverse_below = cx.less(inverse, zero);
    cx.or(below, inverse_below)
}

/// Whether the sign is minus, also that of -0.
fn is_negative(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if matches!(dtype, DType::U8 | DType::Bool) {
        return everywhere(cx, false);
    }
    Ok(is_below(cx, x, dtype))
}

/// Whether the sign is minus, also that of -0.
#[lowering("aten.signbit.default", "prims.signbit.default")]
fn signbit(cx: &mut Lower, x: Value) -> Res<Value> {
    is_negative(cx, x)
}

/// `|self|` with the sign of `other`.
#[lowering("aten.copysign.Tensor", "aten.copysign.Scalar")]
fn copysign(cx: &mut Lower, a: Operand, b: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.operand(&a, dtype);
    let size = cx.abs(x);
    let other = match b {
        Operand::Number(n) => match n.as_f64() {
            Some(n) if n.is_sign_negative() => return Ok(cx.neg(size)),
            Some(_) => return Ok(size),
            None => cx.number(&n, dtype),
        },
        Operand::Tensor(other) => other,
    };
    let (negative, minus) = (is_negative(cx, other)?, cx.neg(size));
    Ok(select(cx, negative, minus, size, dtype))
}

/// 0 below zero, 1 above, `values` at zero.
#[lowering("aten.heaviside.default")]
fn heaviside(cx: &mut Lower, x: Value, values: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if dtype == DType::Bool {
        return Ok(cx.or(x, values));
    }
    let zero = constant(cx, 0.0, dtype);
    let (at_zero, above) = (cx.equal(x, zero), cx.greater(x, zero));
    let above = cx.cast(above, dtype);
    Ok(select(cx, at_zero, values, above, dtype))
}

/// `|self - other| <= atol + rtol * |other|`, or equal.
#[lowering("aten.isclose.default")]
fn isclose(cx: &mut Lower, a: Value, b: Value, rtol: f64, atol: f64, equal_nan: bool) -> Res<Value> {
    let dtype = cx.promoted(&[Operand::Tensor(a), Operand::Tensor(b)])?;
    let dtype = if dtype.is_float() { dtype } else { DType::F64 };
    let (a, b) = (cx.cast(a, dtype), cx.cast(b, dtype));
    let (distance, size) = (cx.sub(a, b), cx.abs(b));
    let distance = cx.abs(distance);
    let (rtol, atol) = (constant(cx, rtol, dtype), constant(cx, atol, dtype));
    let relative = cx.mul(rtol, size);
    let allowed = cx.add(atol, relative);
    let near = cx.less_equal(distance, allowed);
    let infinity = constant(cx, f64::INFINITY, dtype);
    let (finite, equal) = (cx.less(distance, infinity), cx.equal(a, b));
    let near = cx.and(near, finite);
    let close = cx.or(near, equal);
    if !equal_nan {
        return Ok(close);
    }
    let (a, b) = (cx.is_nan(a), cx.is_nan(b));
    let both = cx.and(a, b);
    Ok(cx.or(close, both))
}
