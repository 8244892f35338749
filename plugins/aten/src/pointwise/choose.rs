//! Choices by condition, and tests of floats.

use onnxport_sdk::prelude::*;

use crate::support::{defined_type, full, select};

/// `self` where `condition`, else `other`.
#[lowering("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar")]
fn choose(cx: &Lower, condition: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    // The first argument is the condition, so the other two are read by their names in the schema.
    let (a, b) = (operand_called(cx, "self")?, operand_called(cx, "other")?);
    let (a, b) = (cx.operand(&a, dtype), cx.operand(&b, dtype));
    Ok(select(cx, cx.cast(condition, DType::Bool), a, b, dtype))
}

/// `a` where `pred`, else `b`.
#[lowering("prims.where.default")]
fn choose_prim(cx: &Lower, pred: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b) = (operand_called(cx, "a")?, operand_called(cx, "b")?);
    Ok(select(cx, pred, cx.operand(&a, dtype), cx.operand(&b, dtype), dtype))
}

fn operand_called(cx: &Lower, name: &str) -> Res<Operand> {
    cx.argument::<Operand>(name)
}

/// `value` where `mask`, else `self`.
#[lowering("aten.masked_fill.Scalar", "aten.masked_fill.Tensor", parts(value))]
fn masked_fill(cx: &Lower, x: Value, mask: Value, value: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (x, value) = (cx.cast(x, dtype), cx.operand(&value, dtype));
    Ok(select(cx, cx.cast(mask, DType::Bool), value, x, dtype))
}

/// A tensor of the result's shape with the same truth value everywhere.
fn everywhere(cx: &Lower, truth: bool) -> Res<Value> {
    let shape = cx.result(0)?.shape;
    Ok(full(cx, &shape, &Scalar::Bool(truth), DType::Bool))
}

/// Whether it is not a number; integers are.
#[lowering("aten.isnan.default")]
fn isnan(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if !dtype.is_float() {
        return everywhere(cx, false);
    }
    Ok(cx.is_nan(x))
}

/// Whether it is infinite; integers are not.
#[lowering("aten.isinf.default")]
fn isinf(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if !dtype.is_float() {
        return everywhere(cx, false);
    }
    let defined = defined_type(cx, op::IsInf, dtype);
    Ok(cx.op(op::IsInf).input(cx.cast(x, defined)).one())
}

/// `|x| < infinity`, which NaN is not.
#[lowering("aten.isfinite.default", "prims.isfinite.default")]
fn isfinite(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if !dtype.is_float() {
        return everywhere(cx, true);
    }
    Ok(cx.less(cx.abs(x), f64::INFINITY))
}

fn is_exactly(cx: &Lower, x: Value, number: f64) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if !dtype.is_float() {
        return everywhere(cx, false);
    }
    Ok(cx.equal(x, number))
}

/// Whether it is infinity.
#[lowering("aten.isposinf.default")]
fn isposinf(cx: &Lower, x: Value) -> Res<Value> {
    is_exactly(cx, x, f64::INFINITY)
}

/// Whether it is minus infinity.
#[lowering("aten.isneginf.default")]
fn isneginf(cx: &Lower, x: Value) -> Res<Value> {
    is_exactly(cx, x, f64::NEG_INFINITY)
}

/// Whether it has no imaginary part.
#[lowering("aten.isreal.default")]
fn isreal(cx: &Lower, _x: Value) -> Res<Value> {
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
    cx: &Lower,
    x: Value,
    nan: Option<f64>,
    posinf: Option<f64>,
    neginf: Option<f64>,
) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if !dtype.is_float() {
        return Ok(x);
    }
    let number = cx.select(cx.is_nan(x), nan.unwrap_or(0.0), x);
    let limit = largest(dtype);
    if posinf.is_none() && neginf.is_none() {
        return Ok(cx.clamp(number, -limit, limit));
    }
    let mut y = number;
    for (infinity, finite) in
        [(f64::INFINITY, posinf.unwrap_or(limit)), (f64::NEG_INFINITY, neginf.unwrap_or(-limit))]
    {
        y = cx.select(is_exactly(cx, x, infinity)?, finite, y);
    }
    Ok(y)
}

/// Whether a signed number has a minus sign, as -0 does.
pub(crate) fn is_below(cx: &Lower, x: Value, dtype: DType) -> Value {
    let below = cx.less(x, 0.0);
    if !dtype.is_float() {
        return below;
    }
    below | cx.less(cx.reciprocal(x), 0.0)
}

/// Whether the sign is minus, also that of -0.
fn is_negative(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if matches!(dtype, DType::U8 | DType::Bool) {
        return everywhere(cx, false);
    }
    Ok(is_below(cx, x, dtype))
}

/// Whether the sign is minus, also that of -0.
#[lowering("aten.signbit.default", "prims.signbit.default")]
fn signbit(cx: &Lower, x: Value) -> Res<Value> {
    is_negative(cx, x)
}

/// `|self|` with the sign of `other`.
#[lowering("aten.copysign.Tensor", "aten.copysign.Scalar")]
fn copysign(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let size = cx.abs(cx.operand(&a, dtype));
    let other = match b {
        Operand::Number(n) => match n.as_f64() {
            Some(n) if n.is_sign_negative() => return Ok(-size),
            Some(_) => return Ok(size),
            None => cx.number(&n, dtype),
        },
        Operand::Tensor(other) => other,
    };
    Ok(select(cx, is_negative(cx, other)?, -size, size, dtype))
}

/// 0 below zero, 1 above, `values` at zero.
#[lowering("aten.heaviside.default")]
fn heaviside(cx: &Lower, x: Value, values: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if dtype == DType::Bool {
        return Ok(x | values);
    }
    Ok(select(cx, cx.equal(x, 0.0), values, cx.cast(cx.greater(x, 0.0), dtype), dtype))
}

/// `|self - other| <= atol + rtol * |other|`, or equal.
#[lowering("aten.isclose.default")]
fn isclose(cx: &Lower, a: Value, b: Value, rtol: f64, atol: f64, equal_nan: bool) -> Res<Value> {
    let dtype = cx.promoted(&[Operand::Tensor(a), Operand::Tensor(b)])?;
    let dtype = if dtype.is_float() { dtype } else { DType::F64 };
    let (a, b) = (cx.cast(a, dtype), cx.cast(b, dtype));
    let (distance, size) = (a - b, cx.abs(b));
    let distance = cx.abs(distance);
    let near = cx.less_equal(distance, atol + rtol * size);
    let (finite, equal) = (cx.less(distance, f64::INFINITY), cx.equal(a, b));
    let close = (near & finite) | equal;
    if !equal_nan {
        return Ok(close);
    }
    Ok(close | (cx.is_nan(a) & cx.is_nan(b)))
}
