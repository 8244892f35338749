//! The same elements in another shape.

use onnxport_sdk::prelude::*;

/// The elements of `self` in order, in the shape that the program states.
#[lowering(
    "aten.view.default",
    "aten.view_copy.default",
    "aten._unsafe_view.default",
    "aten._reshape_alias.default",
    "aten._reshape_alias_copy.default",
    "aten._reshape_copy.default",
    "aten.reshape.default",
    "aten.reshape_as.default",
    "aten.view_as.default",
    "aten.flatten.using_ints",
    "aten.unflatten.int",
    "aten.ravel.default",
    "aten.atleast_1d.default",
    "aten.atleast_2d.default",
    "aten.atleast_3d.default",
    "prims.reshape.default",
    "prims.split_dim.default",
    "prims.collapse.default",
    "prims.collapse_view.default",
    complex
)]
fn view(cx: &Lower, x: Value) -> Res<Value> {
    cx.reshape_to_result(x, 0)
}

/// `at_least_nd` of every tensor.
#[lowering("aten.atleast_1d.Sequence", "aten.atleast_2d.Sequence", "aten.atleast_3d.Sequence", complex)]
fn at_least(cx: &Lower, tensors: Vec<Value>) -> Res<Vec<Value>> {
    tensors.into_iter().enumerate().map(|(i, x)| cx.reshape_to_result(x, i)).collect()
}

/// The bits of `self` as another element type: nothing to do when it is the same one.
#[lowering("aten.view.dtype", "aten.view_copy.dtype")]
fn view_dtype(cx: &Lower, x: Value, dtype: DType) -> Res<Value> {
    if cx.dtype(x)? == dtype {
        return Ok(x);
    }
    Err(Refusal::new(format!("argument `dtype`: ONNX cannot reinterpret the bits of a tensor as {dtype}"))
        .help("use `Tensor.to` to convert the values"))
}

/// `self` without the axes of size 1, or those of them that `dim` names.
#[lowering(
    "aten.squeeze.default",
    "aten.squeeze.dim",
    "aten.squeeze.dims",
    "aten.squeeze_copy.default",
    "aten.squeeze_copy.dim",
    "aten.squeeze_copy.dims",
    complex
)]
fn squeeze(cx: &Lower, x: Value, dim: Option<Axes>) -> Res<Value> {
    let shape = cx.shape(x)?;
    let named = |axis: &usize| dim.as_ref().is_none_or(|d| d.0.contains(axis));
    let axes: Vec<i64> = (0..shape.len())
        .filter(|a| shape.get(*a).is_some_and(|d| d.is(1)) && named(a))
        .map(|a| a as i64)
        .collect();
    if shape.len() == axes.len() + cx.result(0)?.real_shape().len() {
        return Ok(cx.squeeze(x, &axes));
    }
    cx.reshape_to_result(x, 0)
}

/// `prims.squeeze`: every axis in `dimensions` has size 1.
#[lowering("prims.squeeze.default", complex)]
fn prims_squeeze(cx: &Lower, x: Value, dimensions: Axes) -> Res<Value> {
    Ok(cx.squeeze(x, &dimensions.ints()))
}

/// `self` with a new axis of size 1 at `dim` of the result.
#[lowering("aten.unsqueeze.default", "aten.unsqueeze_copy.default", complex)]
fn unsqueeze(cx: &Lower, x: Value, dim: i64) -> Res<Value> {
    let axis = cx.axis(dim, cx.result(0)?.rank())?;
    Ok(cx.unsqueeze(x, &[axis as i64]))
}
