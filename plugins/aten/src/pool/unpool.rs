//! The partial inverse of max pooling.

use onnxport_sdk::prelude::*;

/// Zeros of the given extents with the elements put back at their places.
#[lowering("aten.max_unpool2d.default", "aten.max_unpool3d.default")]
fn max_unpool(cx: &Lower, x: Value, indices: Value) -> Res<Value> {
    let spatial = if cx.target().contains("2d") { 2 } else { 3 };
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
    cx.reshape_to_result(node.one(), 0)
}
