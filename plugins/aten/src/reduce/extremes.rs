//! Largest and smallest elements.

use onnxport_sdk::prelude::*;

use super::{axes_of, reduce};

/// The largest element over `dim`.
#[lowering("aten.amax.default", "aten.max.default")]
fn amax(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    reduce(cx, op::ReduceMax, x, &axes_of(dim.as_ref()), keepdim)
}

/// The smallest element over `dim`.
#[lowering("aten.amin.default", "aten.min.default")]
fn amin(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    reduce(cx, op::ReduceMin, x, &axes_of(dim.as_ref()), keepdim)
}

/// The smallest and the largest element along `dim`.
#[lowering("aten.aminmax.default")]
fn aminmax(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<(Value, Value)> {
    let axes = axes_of(dim.as_ref());
    let (min, max) =
        (reduce(cx, op::ReduceMin, x, &axes, keepdim)?, reduce(cx, op::ReduceMax, x, &axes, keepdim)?);
    if dim.is_none() && keepdim {
        return Ok((cx.reshape_to_result(min, 0)?, cx.reshape_to_result(max, 1)?));
    }
    Ok((min, max))
}

/// The largest element along `dim` and the place of the first such.
#[lowering("aten.max.dim")]
fn max_dim(cx: &Lower, x: Value, dim: Axis, keepdim: bool) -> Res<(Value, Value)> {
    with_place(cx, (op::ReduceMax.named(), op::ArgMax.named()), x, dim, keepdim)
}

/// The smallest element along `dim` and the place of the first such.
#[lowering("aten.min.dim")]
fn min_dim(cx: &Lower, x: Value, dim: Axis, keepdim: bool) -> Res<(Value, Value)> {
    with_place(cx, (op::ReduceMin.named(), op::ArgMin.named()), x, dim, keepdim)
}

fn with_place(
    cx: &Lower,
    ops: (op::Named<'static>, op::Named<'static>),
    x: Value,
    dim: Axis,
    keepdim: bool,
) -> Res<(Value, Value)> {
    if cx.rank(x)? == 0 {
        return Ok((x, cx.int(0)));
    }
    let axis = dim.0 as i64;
    let values = reduce(cx, ops.0, x, &[axis], keepdim)?;
    let comparable = if cx.dtype(x)? == DType::Bool { cx.cast(x, DType::U8) } else { x };
    let node = cx.op(ops.1).input(comparable).int("axis", axis).int("keepdims", i64::from(keepdim));
    Ok((values, node.one()))
}
