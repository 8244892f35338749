//! Masks, and positions of nonzero elements.

use onnxport_sdk::prelude::*;

use super::advanced::masked;
use crate::view::expand_to;

/// The elements of `self` where `mask` is true, after both were broadcast.
#[lowering("aten.masked_select.default", parts)]
fn masked_select(cx: &Lower, x: Value, mask: Value) -> Res<Value> {
    let (from, by) = (cx.shape(x)?, cx.shape(mask)?);
    let shape = wider(&from, &by);
    let (x, mask) = (expand_to(cx, x, &shape)?, expand_to(cx, mask, &shape)?);
    if shape.is_empty() {
        return masked(cx, cx.reshape(x, &[1]), 0, cx.reshape(mask, &[1]));
    }
    masked(cx, x, 0, mask)
}

/// The shape to which two shapes broadcast.
fn wider(a: &[Dim], b: &[Dim]) -> Vec<Dim> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let added = long.len() - short.len();
    let pick = |(i, d): (usize, &Dim)| match i.checked_sub(added).and_then(|i| short.get(i)) {
        Some(other) if d.is(1) => *other,
        _ => *d,
    };
    long.iter().enumerate().map(pick).collect()
}

/// `self` with the elements where `mask` is true replaced by those of `source`, in order.
#[lowering("aten.masked_scatter.default", parts(source))]
fn masked_scatter(cx: &Lower, x: Value, mask: Value, source: Value) -> Res<Value> {
    let shape = cx.result(0)?.shape;
    let (x, mask) = (expand_to(cx, x, &shape)?, expand_to(cx, mask, &shape)?);
    let (x, mask) = if shape.is_empty() { (cx.reshape(x, &[1]), cx.reshape(mask, &[1])) } else { (x, mask) };
    let found = cx.op(op::NonZero).input(mask).one();
    let count = cx.op(op::Shape).input(found).start(1).one();
    let places = cx.transpose(found, &[1, 0]);
    let updates = cx.slice_dynamic(cx.reshape(source, &[-1]), 0, cx.ints(&[0]), count, 1);
    cx.reshape_to_result(cx.op(op::ScatterND).input(x).input(places).input(updates).one(), 0)
}

/// `NonZero`: a row per axis, a column per element that is not zero.
fn non_zero(cx: &Lower, x: Value) -> Res<Value> {
    let x = if cx.rank(x)? == 0 { cx.reshape(x, &[1]) } else { x };
    Ok(cx.op(op::NonZero).input(x).one())
}

/// The positions of the elements that are not zero, a row each.
#[lowering("aten.nonzero.default", "aten.argwhere.default")]
fn nonzero(cx: &Lower, x: Value) -> Res<Value> {
    let rows = cx.transpose(non_zero(cx, x)?, &[1, 0]);
    // A tensor without axes has no coordinates.
    Ok(if cx.rank(x)? == 0 { cx.slice(rows, 1, 0, 0, 1) } else { rows })
}

/// The same, a vector per axis.
#[lowering("aten.nonzero_numpy.default", "aten.where.default")]
fn nonzero_per_axis(cx: &Lower, x: Value) -> Res<Vec<Value>> {
    let found = non_zero(cx, x)?;
    let count = cx.result_count() as i64;
    if count == 1 {
        return Ok(vec![cx.squeeze(found, &[0])]);
    }
    let row = |i| cx.gather(found, cx.int(i), 0);
    Ok((0..count).map(row).collect())
}

/// The first `size` positions of elements that are not zero, followed by rows of `fill_value`.
#[lowering("aten.nonzero_static.default")]
fn nonzero_static(cx: &Lower, x: Value, size: SymInt, fill_value: i64) -> Res<Value> {
    let rows = nonzero(cx, x)?;
    let depth = cx.ints(&[cx.rank(x)? as i64]);
    let size = cx.sym_ints(&[size]);
    let shape = cx.concat(&[size, depth], 0);
    let fill = cx.ints(&[fill_value]);
    Ok(cx.slice_dynamic(cx.concat(&[rows, cx.expand(fill, shape)], 0), 0, cx.ints(&[0]), size, 1))
}
