//! `self[indices] = values`.

use onnxport_sdk::prelude::*;

use super::advanced::inside;
use super::columns::{Columns, as_mask, broadcast, is_mask};
use super::scatter::{narrow, widen};
use crate::view::permuted;

/// `self` with `self[indices] = values`, or `+= values` with `accumulate`.
#[lowering(
    "aten.index_put.default",
    "aten._unsafe_index_put.default",
    "aten._index_put_impl.default",
    parts(values)
)]
fn index_put(
    cx: &Lower,
    x: Value,
    indices: Vec<Option<Value>>,
    values: Value,
    accumulate: bool,
) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let values = cx.cast(values, dtype);
    if let Some(written) = by_mask(cx, x, &indices, values, accumulate)? {
        return Ok(written);
    }
    if indices.iter().all(Option::is_none) {
        let sum = if accumulate { x + values } else { values };
        let shape = cx.result(0)?.shape;
        return crate::view::expand_to(cx, sum, &shape);
    }
    let rank = cx.rank(x)?;
    let columns = Columns::read(cx, &indices, rank)?;
    let stacked = columns.stacked(cx)?;
    let updates = updates(cx, x, &columns, stacked, values)?;
    let front = columns.front();
    let reduction = if accumulate { "add" } else { "none" };
    let data = widen(cx, permuted(cx, x, front.clone())?, reduction);
    let node = cx.op(op::ScatterND).input(data).input(stacked).input(widen(cx, updates, reduction));
    let written = if accumulate { node.reduction("add").one() } else { node.one() };
    let back = (0..rank).map(|axis| front.iter().position(|f| *f == axis).unwrap_or(axis)).collect();
    permuted(cx, narrow(cx, written, dtype), back)
}

/// `self` with `values` added at `indices` where `mask` is true; indices outside are those of the border.
#[lowering("aten._unsafe_masked_index_put_accumulate.default", parts(values))]
fn masked_index_put(
    cx: &Lower,
    x: Value,
    mask: Value,
    indices: Vec<Option<Value>>,
    values: Value,
) -> Res<Value> {
    let nothing = cx.number(&Scalar::Int(0), cx.dtype(values)?);
    index_put(cx, x, inside(cx, x, indices), cx.select(mask, values, nothing), true)
}

/// A mask whose `values` do not depend on the position within it is a choice per element.
fn by_mask(
    cx: &Lower,
    x: Value,
    indices: &[Option<Value>],
    values: Value,
    accumulate: bool,
) -> Res<Option<Value>> {
    let mut present = indices.iter().enumerate().filter_map(|(axis, index)| Some((axis, (*index)?)));
    let (Some((axis, mask)), None) = (present.next(), present.next()) else { return Ok(None) };
    let (rank, shape) = (cx.rank(x)?, cx.shape(values)?);
    if !is_mask(cx, mask) {
        return Ok(None);
    }
    let after = rank.saturating_sub(axis + cx.rank(mask)?);
    let outer = shape.len().saturating_sub(after);
    if !shape.iter().take(outer).all(|d| d.is(1)) {
        return Ok(None);
    }
    let surplus: Vec<i64> = (0..shape.len().saturating_sub(rank) as i64).collect();
    let values = cx.squeeze(values, &surplus);
    let mask = as_mask(cx, mask);
    let depth = cx.rank(mask)?;
    let new: Vec<i64> = (depth..depth + after).map(|a| a as i64).collect();
    let mask = cx.unsqueeze(mask, &new);
    let dtype = cx.dtype(x)?;
    let values = match (accumulate, dtype) {
        (false, _) => values,
        (true, DType::Bool) => x | values,
        (true, _) => x + values,
    };
    Ok(Some(cx.select(mask, values, x)))
}

/// `values` broadcast to the shape of `self[indices]`, with the axes of the indices in front.
fn updates(cx: &Lower, x: Value, columns: &Columns, stacked: Value, values: Value) -> Res<Value> {
    let shape = cx.shape(x)?;
    let rest: Vec<Dim> =
        columns.rest.iter().map(|a| shape.get(*a).copied().unwrap_or(Dim::Unknown)).collect();
    let (place, depth) = (columns.place(), columns.shape.len());
    let (before, after) = rest.split_at(place.min(rest.len()));
    let target = [before, &columns.shape, after].concat();
    let given = cx.shape(values)?;
    let added = target.len().saturating_sub(given.len());
    let grows = |(i, d): (usize, &Dim)| {
        *d == Dim::Unknown && (i < added || given.get(i - added).is_some_and(|g| g.is(1)))
    };
    let values = if target.iter().enumerate().any(grows) {
        let (before, after) = (cx.dims_value(before), cx.dims_value(after));
        cx.expand(values, cx.concat(&[before, cx.op(op::Shape).input(stacked).end(-1).one(), after], 0))
    } else {
        broadcast(cx, values, &target)?
    };
    let order = (place..place + depth).chain(0..place).chain(place + depth..target.len());
    permuted(cx, values, order.collect())
}
