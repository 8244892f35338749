//! The partial inverse of max pooling, and its gradient.

use onnxport_sdk::prelude::*;

/// Zeros of the given sizes with the elements put back at their positions.
#[lowering("aten.max_unpool2d.default", "aten.max_unpool3d.default")]
fn max_unpool(cx: &Lower, x: Value, indices: Value) -> Res<Value> {
    let spatial = if cx.target().contains("2d") { 2 } else { 3 };
    put_back(cx, x, indices, spatial, "none")
}

/// The gradient of `max_pool2d`: that of each window goes to its largest element.
#[lowering("aten.max_pool2d_with_indices_backward.default")]
fn max_pool_backward(cx: &Lower, grad_output: Value, indices: Value) -> Res<Value> {
    put_back(cx, grad_output, indices, 2, "add")
}

/// Zeros in the shape of the result, into whose channels the elements of `x` are written at `indices`.
fn put_back(cx: &Lower, x: Value, indices: Value, spatial: usize, reduction: &str) -> Res<Value> {
    let result = cx.result(0)?;
    let product = |dims: &[Dim]| dims.iter().fold(Dim::Const(1), |n, d| cx.dim_mul(n, *d));
    let shape = cx.shape(x)?;
    let lead = shape.len().checked_sub(spatial).ok_or("the operand of a pool has too few axes")?;
    let channels = product(&shape[..lead]);
    let (inner, outer) = (product(&shape[lead..]), product(&result.shape[lead..]));
    let (values, places) = (cx.reshape_to(x, &[channels, inner]), cx.reshape_to(indices, &[channels, inner]));
    let zero = cx.filled(&Scalar::Int(0), result.dtype, &[1]);
    let zeros = cx.constant_of_shape(cx.dims_value(&[channels, outer]), zero);
    let node = cx.op(op::ScatterElements).input(zeros).input(places).input(values).axis(1);
    let node = if reduction == "none" { node } else { node.reduction(reduction) };
    cx.reshape_to_result(node.one(), 0)
}
