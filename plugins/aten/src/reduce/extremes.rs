//! Largest and smallest elements. NaN wins, and is found first; ONNX leaves both open.

use onnxport_sdk::prelude::*;

use super::{axes_of, reduce};

/// The largest or smallest element over `axes`, or NaN where there is one.
pub(super) fn extreme(
    cx: &Lower,
    op: impl Operator<'static>,
    x: Value,
    axes: &[i64],
    keepdim: bool,
) -> Res<Value> {
    let value = reduce(cx, op, x, axes, keepdim)?;
    unless_nan(cx, value, x, axes, keepdim)
}

/// `value`, a reduction of `x`, or NaN where NaN is among the elements.
pub(super) fn unless_nan(cx: &Lower, value: Value, x: Value, axes: &[i64], keepdim: bool) -> Res<Value> {
    if cx.dtype(x)?.kind() != Kind::Float || cx.rank(x)? == 0 {
        return Ok(value);
    }
    let nan = cx.cast(cx.is_nan(x), DType::U8);
    let found = cx.cast(reduce(cx, op::ReduceMax, nan, axes, keepdim)?, DType::Bool);
    Ok(cx.select(found, f64::NAN, value))
}

/// The largest element over `dim`.
#[lowering("aten.amax.default", "aten.max.default")]
fn amax(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    extreme(cx, op::ReduceMax, x, &axes_of(dim.as_ref()), keepdim)
}

/// The smallest element over `dim`.
#[lowering("aten.amin.default", "aten.min.default")]
fn amin(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    extreme(cx, op::ReduceMin, x, &axes_of(dim.as_ref()), keepdim)
}

/// The smallest and the largest element along `dim`.
#[lowering("aten.aminmax.default")]
fn aminmax(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<(Value, Value)> {
    let axes = axes_of(dim.as_ref());
    let (min, max) =
        (extreme(cx, op::ReduceMin, x, &axes, keepdim)?, extreme(cx, op::ReduceMax, x, &axes, keepdim)?);
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
    let values = extreme(cx, ops.0, x, &[axis], keepdim)?;
    let comparable = if cx.dtype(x)? == DType::Bool { cx.cast(x, DType::U8) } else { x };
    let node = |op: op::Named<'static>, x| {
        cx.op(op).input(x).int("axis", axis).int("keepdims", i64::from(keepdim)).one()
    };
    let place = node(ops.1, comparable);
    if cx.dtype(x)?.kind() != Kind::Float {
        return Ok((values, place));
    }
    let first = node(op::ArgMax.named(), cx.cast(cx.is_nan(x), DType::U8));
    Ok((values, cx.select(cx.is_nan(values), first, place)))
}
