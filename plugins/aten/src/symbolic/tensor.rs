//! Numbers out of tensors: elements, sizes, strides.

use onnxport_sdk::prelude::*;

/// The only element, as a number.
#[lowering("aten.item.default", "prims.item.default", "aten._local_scalar_dense.default")]
fn item(cx: &Lower, x: Value) -> Res<Value> {
    let result = cx.result(0)?;
    let x = cx.cast(x, result.dtype);
    if cx.shape(x).is_ok_and(|s| s == result.shape) {
        return Ok(x);
    }
    Ok(cx.reshape(x, &[1]))
}

/// Whether the only element is other than zero.
#[lowering("aten.is_nonzero.default")]
fn is_nonzero(cx: &Lower, x: Value) -> Res<Value> {
    item(cx, x)
}

/// The size of an axis.
#[lowering("aten.sym_size.int", "aten.size.int")]
fn sym_size(cx: &Lower, x: Value, dim: Axis) -> Res<Value> {
    Ok(cx.extent(x, dim.0))
}

/// The number of elements.
#[lowering("aten.sym_numel.default", "aten.numel.default")]
fn sym_numel(cx: &Lower, x: Value) -> Res<Value> {
    Ok(cx.reshape(cx.op(op::Size).input(x).one(), &[1]))
}

/// The stride of an axis: the sizes behind it multiplied, as the model's tensors are contiguous.
#[lowering("aten.sym_stride.int", "aten.stride.int")]
fn sym_stride(cx: &Lower, x: Value, dim: Axis) -> Res<Value> {
    let shape = cx.shape(x)?;
    let stride = shape.iter().skip(dim.0 + 1).fold(Dim::Const(1), |product, n| cx.dim_mul(product, *n));
    Ok(cx.dims_value(&[stride]))
}

/// Where the tensor starts in its memory: it has its own.
#[lowering("aten.sym_storage_offset.default", "aten.storage_offset.default")]
fn sym_storage_offset(cx: &Lower) -> Res<Value> {
    Ok(cx.ints(&[0]))
}

/// Tensors of the model are contiguous.
#[lowering("aten.sym_is_contiguous.default", "aten.is_contiguous.default")]
fn is_contiguous(cx: &Lower) -> Res<Value> {
    Ok(cx.filled(&Scalar::Bool(true), DType::Bool, &[1]))
}
