//! `self[indices]`.

use onnxport_sdk::prelude::*;

use super::columns::{Columns, as_index, as_mask, is_mask};
use crate::support::compress;
use crate::view::permuted;

/// `self[indices]`: integer indices broadcast against each other, masks pick where they are true, and
/// `None` keeps an axis.
#[lowering("aten.index.Tensor", "aten._unsafe_index.Tensor", complex)]
fn index(cx: &Lower, x: Value, indices: Vec<Option<Value>>) -> Res<Value> {
    let present: Vec<(usize, Value)> =
        indices.iter().enumerate().filter_map(|(axis, index)| Some((axis, (*index)?))).collect();
    match present.as_slice() {
        [] => return Ok(x),
        [(axis, mask)] if is_mask(cx, *mask) => return masked(cx, x, *axis, *mask),
        [(axis, index)] => {
            return Ok(cx.gather(x, as_index(cx, *index), *axis as i64));
        }
        _ => {}
    }
    let columns = Columns::read(cx, &indices, cx.rank(x)?)?;
    if let Some(picked) = one_by_one(cx, x, &columns)? {
        return Ok(picked);
    }
    let data = permuted(cx, x, columns.front())?;
    let (place, depth, rest) = (columns.place(), columns.shape.len(), columns.rest.len());
    let order = (depth..depth + place).chain(0..depth).chain(depth + place..depth + rest);
    permuted(cx, cx.op(op::GatherND).input(data).input(columns.stacked(cx)?).one(), order.collect())
}

/// Neighbouring axes whose indices vary along different axes of their common shape, in order, are
/// gathered one after the other: `x[i[:, None], j]` is `x[i][:, j]`.
fn one_by_one(cx: &Lower, x: Value, columns: &Columns) -> Res<Option<Value>> {
    let mut free = 0;
    for index in &columns.indices {
        let shape = cx.shape(*index)?;
        let first = columns.shape.len() - shape.len();
        let varies = |a: &usize| shape.get(*a).is_some_and(|d| !d.is(1));
        let axes: Vec<usize> = (0..shape.len()).filter(varies).map(|a| a + first).collect();
        if axes.first().is_some_and(|a| *a < free) {
            return Ok(None);
        }
        free = axes.last().map_or(free, |a| a + 1);
    }
    let (Some(first), Some(last)) = (columns.axes.first(), columns.axes.last()) else { return Ok(None) };
    if last - first + 1 != columns.axes.len() {
        return Ok(None);
    }
    let (mut picked, mut axis) = (x, *first);
    for index in &columns.indices {
        picked = cx.gather(picked, *index, axis as i64);
        axis += cx.rank(*index)?;
    }
    cx.reshape_to_result(picked, 0).map(Some)
}

/// The elements where `mask`, which covers axes from `axis` on, is true.
pub(super) fn masked(cx: &Lower, x: Value, axis: usize, mask: Value) -> Res<Value> {
    let mask = as_mask(cx, mask);
    let (depth, shape) = (cx.rank(mask)?, cx.shape(x)?);
    match depth {
        0 => Err("argument `indices`: a mask without axes is not supported".into()),
        1 => compress(cx, x, mask, Some(axis as i64)),
        _ if depth == shape.len() => compress(cx, x, cx.reshape(mask, &[-1]), None),
        _ if axis == 0 => {
            let found = cx.op(op::NonZero).input(mask).one();
            Ok(cx.op(op::GatherND).input(x).input(cx.transpose(found, &[1, 0])).one())
        }
        _ => {
            let covered = shape.iter().skip(axis).take(depth);
            let merged = covered.fold(Dim::Const(1), |a, b| cx.dim_mul(a, *b));
            let mut target: Vec<Dim> = shape.iter().take(axis).copied().collect();
            target.push(merged);
            target.extend(shape.iter().skip(axis + depth));
            compress(cx, cx.reshape_to(x, &target), cx.reshape(mask, &[-1]), Some(axis as i64))
        }
    }
}

/// `self[indices]` where `mask` is true, else `fill`; indices outside are those of the border.
#[lowering("aten._unsafe_masked_index.default", parts(fill))]
fn masked_index(cx: &Lower, x: Value, mask: Value, indices: Vec<Option<Value>>, fill: Scalar) -> Res<Value> {
    let inside = inside(cx, x, indices);
    Ok(cx.select(mask, self::index(cx, x, inside)?, fill))
}

/// Indices of the axes of `x`, those outside moved to its border.
pub(super) fn inside(cx: &Lower, x: Value, indices: Vec<Option<Value>>) -> Vec<Option<Value>> {
    let indices = indices.into_iter().enumerate().map(|(axis, index)| {
        let (index, extent) = (cx.cast(index?, DType::I64), cx.extent(x, axis));
        Some(cx.min(cx.max(index, -extent), extent - 1i64))
    });
    indices.collect()
}
