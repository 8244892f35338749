//! The largest element of every window.

use onnxport_sdk::prelude::*;

use super::Window;
use crate::conv::batched;

/// The largest element of every window.
#[lowering("aten.max_pool1d.default", "aten.max_pool2d.default", "aten.max_pool3d.default")]
fn max_pool(
    cx: &Lower,
    x: Value,
    kernel_size: Vec<i64>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    ceil_mode: bool,
) -> Res<Value> {
    let window = Window::new(cx, x, [&kernel_size, &stride, &padding, &dilation], ceil_mode)?;
    pooled(cx, x, &window, false)?.first().copied().ok_or_else(|| "the pool has no result".into())
}

/// The largest element of every window, and its place among the elements of its channel.
#[lowering(
    "aten.max_pool1d_with_indices.default",
    "aten.max_pool2d_with_indices.default",
    "aten.max_pool3d_with_indices.default"
)]
fn max_pool_with_indices(
    cx: &Lower,
    x: Value,
    kernel_size: Vec<i64>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    ceil_mode: bool,
) -> Res<Vec<Value>> {
    let window = Window::new(cx, x, [&kernel_size, &stride, &padding, &dilation], ceil_mode)?;
    pooled(cx, x, &window, true)
}

/// ONNX counts positions from the start of the whole operand, PyTorch from that of the channel. Integers
/// of more than 8 bits, of which ONNX has no such pool, compute in f64, which holds those of an image.
pub(super) fn pooled(cx: &Lower, x: Value, window: &Window, places: bool) -> Res<Vec<Value>> {
    let dtype = cx.dtype(x)?;
    let compute = if dtype.kind() == Kind::Int && dtype.bits() > 8 { DType::F64 } else { dtype };
    let x = cx.cast(x, compute);
    let body = |cx: &Lower, x: Value| {
        let mut outputs = window.emit(cx, op::MaxPool, x, false, if places { 2 } else { 1 });
        if let [_, flat] = outputs.as_mut_slice() {
            let shape = cx.shape(x)?;
            let size = shape.iter().skip(2).fold(Dim::Const(1), |n, d| cx.dim_mul(n, *d));
            *flat = cx.modulo(*flat, cx.dims_value(&[size]), false);
        }
        Ok(outputs)
    };
    let mut outputs = batched(cx, x, window.spatial(), body, |cx, outputs| {
        outputs.into_iter().map(|y| cx.squeeze(y, &[0])).collect()
    })?;
    if let Some(values) = outputs.first_mut() {
        *values = cx.cast(*values, dtype);
    }
    Ok(outputs)
}
