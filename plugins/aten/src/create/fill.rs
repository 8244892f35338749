//! Filled tensors.

use onnxport_sdk::prelude::*;

use crate::support::{full, small};

/// A tensor of the stated shape filled with `number`; `size` counts where a size is not known.
fn filled(cx: &Lower, number: &Scalar, size: Option<Vec<SymInt>>) -> Res<Value> {
    let result = cx.result(0)?;
    if let Some(size) = size.filter(|_| result.shape.contains(&Dim::Unknown)) {
        let shape = cx.sym_ints(&size);
        return Ok(cx.expand(cx.number(number, result.dtype), shape));
    }
    Ok(full(cx, &result.shape, number, result.dtype))
}

/// A tensor of the shape of `like` filled with `number`.
fn filled_like(cx: &Lower, number: &Scalar, like: Value) -> Res<Value> {
    let result = cx.result(0)?;
    let symbolic = matches!(number, Scalar::Sym(_));
    if symbolic || small(&result.shape, result.dtype).is_some() {
        return Ok(full(cx, &result.shape, number, result.dtype));
    }
    Ok(cx.constant_of_shape(cx.shape_value(like), cx.filled(number, result.dtype, &[1])))
}

/// `size` filled with `fill_value`.
#[lowering("aten.full.default", "prims.full.default", "aten.new_full.default")]
fn full_(cx: &Lower, size: Option<Vec<SymInt>>, fill_value: Scalar) -> Res<Value> {
    filled(cx, &fill_value, size)
}

/// `size` filled with 0; memory that is not initialised is zero, too.
#[lowering(
    "aten.zeros.default",
    "aten.new_zeros.default",
    "aten.empty.memory_format",
    "prims.empty.default",
    "aten.empty_permuted.default",
    "prims.empty_permuted.default",
    "aten.empty_strided.default",
    "prims.empty_strided.default",
    "aten.new_empty.default",
    "aten.new_empty_strided.default",
    "aten._efficientzerotensor.default"
)]
fn zeros(cx: &Lower, size: Option<Vec<SymInt>>) -> Res<Value> {
    filled(cx, &Scalar::Int(0), size)
}

/// `size` filled with 1.
#[lowering("aten.ones.default", "aten.new_ones.default")]
fn ones(cx: &Lower, size: Vec<SymInt>) -> Res<Value> {
    filled(cx, &Scalar::Int(1), Some(size))
}

/// The shape of `self` filled with `fill_value`.
#[lowering("aten.full_like.default", "prims.full_like.default")]
fn full_like(cx: &Lower, x: Value, fill_value: Scalar) -> Res<Value> {
    filled_like(cx, &fill_value, x)
}

/// The shape of `self` filled with `value`.
#[lowering("aten.fill.Scalar", "prims.fill.default")]
fn fill_scalar(cx: &Lower, x: Value, value: Scalar) -> Res<Value> {
    filled_like(cx, &value, x)
}

/// The shape of `self` filled with the 0-d tensor `value`.
#[lowering("aten.fill.Tensor")]
fn fill_tensor(cx: &Lower, x: Value, value: Value) -> Res<Value> {
    broadcast_to_result(cx, value, x)
}

/// `src` in the type and shape of `self`.
#[lowering("aten.copy.default")]
fn copy(cx: &Lower, x: Value, src: Value) -> Res<Value> {
    broadcast_to_result(cx, src, x)
}

/// `value` cast and expanded to the stated result, which has the shape of `like`.
fn broadcast_to_result(cx: &Lower, value: Value, like: Value) -> Res<Value> {
    let result = cx.result(0)?;
    let value = cx.cast(value, result.dtype);
    if cx.fact(value).shape.as_ref() == Some(&result.shape) && !result.shape.contains(&Dim::Unknown) {
        return Ok(value);
    }
    Ok(cx.expand(value, cx.shape_value(like)))
}

/// The shape of `self` filled with 0.
#[lowering("aten.zeros_like.default", "aten.zero.default", "aten.empty_like.default")]
fn zeros_like(cx: &Lower, x: Value) -> Res<Value> {
    filled_like(cx, &Scalar::Int(0), x)
}

/// The shape of `self` filled with 1.
#[lowering("aten.ones_like.default")]
fn ones_like(cx: &Lower, x: Value) -> Res<Value> {
    filled_like(cx, &Scalar::Int(1), x)
}

/// A 0-d tensor of the number.
#[lowering(
    "aten.scalar_tensor.default",
    "prims.scalar_tensor.default",
    "aten.tensor.int",
    "aten.tensor.float",
    "aten.tensor.bool"
)]
fn scalar_tensor(cx: &Lower, x: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.number(&x, dtype))
}
