//! Complex tensors of numbers.

use onnxport_sdk::prelude::*;

use crate::support::full;

/// The stated shape filled with the complex number.
fn filled(cx: &Lower, number: &Scalar) -> Res<Value> {
    let result = cx.result(0)?;
    let dtype = result.dtype.real();
    let pair = match *number {
        Scalar::Complex(re, im) => [re, im],
        number => [number.as_f64().ok_or("`fill_value` is not a constant")?, 0.0],
    };
    if !result.dtype.is_complex() {
        return Ok(full(cx, &result.shape, &Scalar::Float(pair[0]), result.dtype));
    }
    Ok(cx.expand(cx.numbers(&pair, dtype), cx.dims_value(&result.real_shape())))
}

/// The stated shape filled with `fill_value`.
#[lowering("aten.full.default", "aten.full_like.default", "aten.new_full.default", complex)]
fn full_of(cx: &Lower, fill_value: Scalar) -> Res<Value> {
    filled(cx, &fill_value)
}

/// The stated shape filled with `value`.
#[lowering("aten.fill.Scalar", complex)]
fn fill(cx: &Lower, value: Scalar) -> Res<Value> {
    filled(cx, &value)
}

/// The stated shape filled with 0.
#[lowering(
    "aten.zeros.default",
    "aten.zeros_like.default",
    "aten.new_zeros.default",
    "aten.zero.default",
    "aten.empty.memory_format",
    "aten.empty_like.default",
    "aten.new_empty.default",
    complex
)]
fn zeros(cx: &Lower) -> Res<Value> {
    filled(cx, &Scalar::Int(0))
}

/// The stated shape filled with 1.
#[lowering("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default", complex)]
fn ones(cx: &Lower) -> Res<Value> {
    filled(cx, &Scalar::Int(1))
}

/// The identity matrix of the stated shape.
#[lowering("aten.eye.default", "aten.eye.m", complex)]
fn eye(cx: &Lower) -> Res<Value> {
    let result = cx.result(0)?;
    let zeros = full(cx, &result.shape, &Scalar::Int(0), result.dtype.real());
    Ok(cx.complex(cx.op(op::EyeLike).input(zeros).one(), zeros))
}

/// A number without axes.
#[lowering("aten.scalar_tensor.default", complex)]
fn scalar_tensor(cx: &Lower, s: Scalar) -> Res<Value> {
    filled(cx, &s)
}
