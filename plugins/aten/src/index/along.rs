//! Whole slices along one axis, an index per slice.

use onnxport_sdk::prelude::*;

use super::columns::as_index;
use super::scatter::{filled_like, narrow, reduced, scattered, widen};
use crate::view::expand_to;

/// `self` at the positions `index` of axis `dim`.
#[lowering("aten.index_select.default", complex)]
fn index_select(cx: &Lower, x: Value, dim: Axis, index: Value) -> Res<Value> {
    if cx.result(0)?.rank() == 0 {
        return Ok(x);
    }
    let mut index = as_index(cx, index);
    if cx.rank(index)? == 0 {
        index = cx.unsqueeze(index, &[0]);
    }
    Ok(cx.gather(x, index, dim.0 as i64))
}

/// `index` as a vector, broadcast to `shape` along every axis but `axis`.
fn spread(cx: &Lower, index: Value, axis: usize, shape: &[Dim]) -> Res<Value> {
    let index = as_index(cx, index);
    let new = if cx.rank(index)? == 0 { 0..shape.len() } else { axis + 1..shape.len() };
    let base = if cx.rank(index)? == 0 { 0 } else { axis as i64 };
    let new: Vec<i64> = new.map(|a| a as i64 - base).collect();
    expand_to(cx, cx.unsqueeze(index, &new), shape)
}

/// The slices of `source` written to `index` along `axis`.
pub(super) fn written(
    cx: &Lower,
    x: Value,
    axis: usize,
    index: Value,
    source: Value,
    reduction: &str,
) -> Res<Value> {
    let (rank, dtype) = (cx.rank(x)?, cx.dtype(x)?);
    let source = cx.cast(source, dtype);
    let (index_rank, source_rank) = (cx.rank(index)?, cx.rank(source)?);
    if rank == 0 {
        return scattered(cx, x, 0, cx.reshape(index, &[1]), cx.reshape(source, &[1]), reduction);
    }
    let source = if source_rank < rank { cx.unsqueeze(source, &[axis as i64]) } else { source };
    if axis == 0 {
        let new: Vec<i64> = if index_rank == 0 { vec![0, 1] } else { vec![1] };
        let index = cx.unsqueeze(cx.cast(index, DType::I64), &new);
        let x = widen(cx, x, reduction);
        let node = cx.op(op::ScatterND).input(x).input(index).input(widen(cx, source, reduction));
        let written = if reduction == "none" { node.one() } else { node.reduction(reduction).one() };
        return Ok(narrow(cx, written, dtype));
    }
    let shape = cx.shape(source)?;
    scattered(cx, x, axis, spread(cx, index, axis, &shape)?, source, reduction)
}

/// `self` with slice `index[i]` of axis `dim` replaced by slice `i` of `source`.
#[lowering("aten.index_copy.default", parts(source))]
fn index_copy(cx: &Lower, x: Value, dim: Axis, index: Value, source: Value) -> Res<Value> {
    written(cx, x, dim.0, index, source, "none")
}

/// `self` with `alpha *` slice `i` of `source` added to slice `index[i]` of axis `dim`.
#[lowering("aten.index_add.default", parts(source))]
fn index_add(cx: &Lower, x: Value, dim: Axis, index: Value, source: Value, alpha: Scalar) -> Res<Value> {
    let bool = cx.dtype(source)? == DType::Bool;
    if bool && alpha.is(0.0) {
        return Ok(x);
    }
    let source = if bool || alpha.is(1.0) { source } else { source * alpha };
    written(cx, x, dim.0, index, source, "add")
}

/// `self` with the slices of `source` reduced into slices `index` of axis `dim`.
#[lowering("aten.index_reduce.default")]
fn index_reduce(
    cx: &Lower,
    x: Value,
    dim: Axis,
    index: Value,
    source: Value,
    reduce: Str,
    include_self: bool,
) -> Res<Value> {
    let shape = cx.shape(source)?;
    let index = if shape.is_empty() { index } else { spread(cx, index, dim.0, &shape)? };
    reduced(cx, x, dim.0, index, source, reduce.0, include_self)
}

/// `self` with slices `index` of axis `dim` set to `value`, a number or a 0-d tensor.
#[lowering("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor", parts(value))]
fn index_fill(cx: &Lower, x: Value, dim: Axis, index: Value, value: Operand) -> Res<Value> {
    let (axis, shape, dtype) = (dim.0, cx.shape(x)?, cx.result(0)?.dtype);
    let fill = match value {
        Operand::Number(Scalar::Sym(n)) => cx.squeeze(n, &[0]),
        Operand::Number(n) => cx.number(&n, dtype),
        Operand::Tensor(t) => t,
    };
    let fill = cx.cast(fill, dtype);
    let picks = cx.literal(index).and_then(|l| l.ints());
    if let (Some(picks), Some(n)) = (picks, shape.get(axis).and_then(|d| d.as_const())) {
        let mask: Vec<u8> = (0..n).map(|i| u8::from(picks.iter().any(|p| p.rem_euclid(n) == i))).collect();
        let mut extents = vec![1; shape.len() - axis];
        if let Some(first) = extents.first_mut() {
            *first = n as u64;
        }
        return Ok(cx.select(cx.constant(DType::Bool, &extents, &mask), fill, x));
    }
    if shape.is_empty() {
        return Ok(fill);
    }
    let mut target = shape;
    if let Some(place) = target.get_mut(axis) {
        *place = if cx.rank(index)? == 0 { Dim::Const(1) } else { cx.dim(index, 0) };
    }
    let index = spread(cx, index, axis, &target)?;
    let zeros = filled_like(cx, &Scalar::Bool(false), DType::Bool, x);
    let ones = filled_like(cx, &Scalar::Bool(true), DType::Bool, index);
    Ok(cx.select(scattered(cx, zeros, axis, index, ones, "none")?, fill, x))
}
