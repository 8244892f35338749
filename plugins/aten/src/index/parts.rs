//! A tensor with a part of it replaced.

use onnxport_sdk::prelude::*;

use super::along::written;
use crate::view::{expand_to, permuted};

/// A mask along `axis` of `rank` axes that is true where `wanted`.
fn mask_along(cx: &Lower, n: i64, axis: usize, rank: usize, wanted: impl Fn(i64) -> bool) -> Value {
    let bytes: Vec<u8> = (0..n).map(|i| u8::from(wanted(i))).collect();
    let mut extents = vec![1; rank.saturating_sub(axis).max(1)];
    if let Some(first) = extents.first_mut() {
        *first = n as u64;
    }
    cx.constant(DType::Bool, &extents, &bytes)
}

/// `x` as a 0-d constant, when it is a small constant with equal elements.
fn uniform(cx: &Lower, x: Value) -> Option<Value> {
    let literal = cx.literal(x)?;
    let number = if literal.dtype.kind() == Kind::Float {
        let all = literal.floats()?;
        Scalar::Float(*all.first().filter(|first| all.iter().all(|n| n == *first))?)
    } else {
        let all = literal.ints()?;
        Scalar::Int(*all.first().filter(|first| all.iter().all(|n| n == *first))?)
    };
    Some(cx.number(&number, literal.dtype))
}

/// `self` with its slice at `index` of axis `dim` replaced by `src`.
#[lowering("aten.select_scatter.default", parts(src))]
fn select_scatter(cx: &Lower, x: Value, src: Value, dim: Axis, index: SymInt) -> Res<Value> {
    let (axis, rank) = (dim.0, cx.rank(x)?);
    let dtype = cx.result(0)?.dtype;
    let src = cx.cast(src, dtype);
    if let (SymInt::Const(index), Some(n)) = (index, cx.dim(x, axis).as_const()) {
        if n == 1 {
            return Ok(cx.unsqueeze(src, &[axis as i64]));
        }
        let src = match uniform(cx, src) {
            Some(number) => number,
            None if axis == 0 => src,
            None => cx.unsqueeze(src, &[axis as i64]),
        };
        let at = if index < 0 { index + n } else { index };
        let mask = mask_along(cx, n, axis, rank, |i| i == at);
        return Ok(cx.select(mask, src, x));
    }
    let src = cx.unsqueeze(src, &[axis as i64]);
    let index = cx.sym_ints(&[index]);
    if axis == 0 {
        return Ok(cx.op(op::ScatterND).input(x).input(cx.unsqueeze(index, &[0])).input(src).one());
    }
    let shape = cx.shape(src)?;
    let index = expand_to(cx, index, &shape)?;
    Ok(cx.op(op::ScatterElements).input(x).input(index).input(src).axis(axis as i64).one())
}

/// `self` with `self[start:end:step]` along `dim` replaced by `src`.
#[lowering("aten.slice_scatter.default", parts(src))]
fn slice_scatter(
    cx: &Lower,
    x: Value,
    src: Value,
    dim: Axis,
    start: Option<SymInt>,
    end: Option<SymInt>,
    step: i64,
) -> Res<Value> {
    let axis = dim.0;
    let dtype = cx.result(0)?.dtype;
    let src = cx.cast(src, dtype);
    let (extent, length) = (cx.dim(x, axis), cx.dim(src, axis));
    let shape = cx.shape(x)?;
    if step == 1 && extent == length && extent != Dim::Unknown {
        return expand_to(cx, src, &shape);
    }
    let start = start.unwrap_or(SymInt::Const(0));
    let end = end.unwrap_or(SymInt::Const(i64::MAX));
    if step != 1 || (extent.as_const().is_some() && uniform(cx, src).is_some()) {
        return strided(cx, x, src, axis, start, length, step);
    }
    // The part before, the new part, and the part after.
    let mut target = shape;
    if let Some(place) = target.get_mut(axis) {
        *place = length;
    }
    let mut parts = vec![expand_to(cx, src, &target)?];
    let whole = |n: &SymInt| extent != Dim::Unknown && cx.as_dim(n) == extent;
    let after = !(end == SymInt::Const(i64::MAX)
        || whole(&end)
        || end.as_const().zip(extent.as_const()).is_some_and(|(e, n)| e >= n));
    if start != SymInt::Const(0) {
        parts.insert(0, cx.slice_dynamic(x, axis as i64, cx.ints(&[0]), cx.sym_ints(&[start]), 1));
    }
    if after {
        parts.push(cx.slice_dynamic(x, axis as i64, cx.sym_ints(&[end]), cx.ints(&[i64::MAX]), 1));
    }
    Ok(cx.concat(&parts, axis as i64))
}

/// The gradient of a slice: `grad_output` in its place in a tensor of zeros.
#[lowering("aten.slice_backward.default", parts)]
fn slice_backward(cx: &Lower, x: Value, dim: Axis, start: SymInt, end: SymInt, step: i64) -> Res<Value> {
    slice_scatter(cx, zeros(cx)?, x, dim, Some(start), Some(end), step)
}

/// The gradient of `select`: `grad_output` in its place in a tensor of zeros.
#[lowering("aten.select_backward.default", parts)]
fn select_backward(cx: &Lower, x: Value, dim: i64, index: SymInt) -> Res<Value> {
    let axis = cx.axis(dim, cx.result(0)?.rank())?;
    select_scatter(cx, zeros(cx)?, x, Axis(axis), index)
}

/// Zeros of the type and shape of the result.
fn zeros(cx: &Lower) -> Res<Value> {
    let result = cx.result(0)?;
    Ok(cx.constant_of_shape(cx.dims_value(&result.shape), cx.filled(&Scalar::Int(0), result.dtype, &[1])))
}

/// Every `step`-th slice of axis `axis` from `start` on replaced: `src` is stretched over the axis and
/// chosen by a mask.
fn strided(
    cx: &Lower,
    x: Value,
    src: Value,
    axis: usize,
    start: SymInt,
    length: Dim,
    step: i64,
) -> Res<Value> {
    let rank = cx.rank(x)?;
    let known = (cx.dim(x, axis).as_const(), start.as_const(), length.as_const());
    let (Some(n), Some(start), Some(length)) = known else {
        let from = match start.as_const() {
            Some(n) if n < 0 => cx.dims_value(&[cx.dim_add(cx.dim(x, axis), n)]),
            _ => cx.sym_ints(&[start]),
        };
        let (first, step_value) = (cx.squeeze(from, &[0]), cx.int(step));
        let count = cx.squeeze(cx.dims_value(&[length]), &[0]);
        return written(cx, x, axis, cx.range(first, first + count * step_value, step_value), src, "none");
    };
    if length == 0 {
        return Ok(x);
    }
    let start = if start < 0 { (start + n).max(0) } else { start };
    let stretched = if let Some(number) = uniform(cx, src) {
        number
    } else {
        let picks: Vec<i64> = (0..n).map(|i| ((i - start) / step.max(1)).clamp(0, length - 1)).collect();
        cx.gather(src, cx.ints(&picks), axis as i64)
    };
    let taken = |i: i64| i >= start && (i - start) % step == 0 && (i - start) / step < length;
    Ok(cx.select(mask_along(cx, n, axis, rank, taken), stretched, x))
}

/// `self` with a diagonal of the planes `dim1` × `dim2` replaced by `src`.
#[lowering("aten.diagonal_scatter.default", parts(src))]
fn diagonal_scatter(cx: &Lower, x: Value, src: Value, offset: i64, dim1: Axis, dim2: Axis) -> Res<Value> {
    let rank = cx.rank(x)?;
    let length = cx.shape(src)?.last().copied().unwrap_or(Dim::Unknown);
    let (row, column) = ((-offset).max(0), offset.max(0));
    let places = if let Some(length) = length.as_const() {
        let pairs: Vec<i64> = (0..length).flat_map(|k| [row + k, column + k]).collect();
        let bytes: Vec<u8> = pairs.iter().flat_map(|p| p.to_le_bytes()).collect();
        cx.constant(DType::I64, &[length as u64, 2], &bytes)
    } else {
        let count = cx.squeeze(cx.dims_value(&[length]), &[0]);
        cx.unsqueeze(cx.range(cx.int(0), count, cx.int(1)), &[1]) + cx.ints(&[row, column])
    };
    let planes = [dim1.0, dim2.0];
    let front: Vec<usize> = planes.into_iter().chain((0..rank).filter(|a| !planes.contains(a))).collect();
    let dtype = cx.result(0)?.dtype;
    let src = cx.cast(src, dtype);
    let last = cx.rank(src)?.saturating_sub(1);
    let updates = permuted(cx, src, std::iter::once(last).chain(0..last).collect())?;
    let data = permuted(cx, x, front.clone())?;
    let back = (0..rank).map(|axis| front.iter().position(|f| *f == axis).unwrap_or(axis)).collect();
    permuted(cx, cx.op(op::ScatterND).input(data).input(places).input(updates).one(), back)
}
