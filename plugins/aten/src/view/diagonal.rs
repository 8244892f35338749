//! Diagonals.

use onnxport_sdk::prelude::*;

use super::{expand_to, permuted};

/// The diagonal `offset` above the main one of the planes `dim1` × `dim2`, as a last axis: elements
/// `c + 1` apart in the flattened plane, which has `c` columns.
#[lowering("aten.diagonal.default", "aten.diagonal_copy.default", complex)]
fn diagonal(cx: &Lower, x: Value, offset: i64, dim1: Axis, dim2: Axis) -> Res<Value> {
    let result = cx.result(0)?;
    let (rows, columns) = (cx.dim(x, dim1.0), cx.dim(x, dim2.0));
    let outer: Vec<usize> = (0..=result.rank()).filter(|a| ![dim1.0, dim2.0].contains(a)).collect();
    let axis = outer.len();
    let planes = permuted(cx, x, outer.into_iter().chain([dim1.0, dim2.0]).collect())?;
    let mut shape = result.real_shape();
    let (Some(place), length) = (shape.get_mut(axis), result.shape.get(axis).copied()) else {
        return Err("the result has too few axes".into());
    };
    let length = length.unwrap_or(Dim::Unknown);
    *place = cx.dim_mul(rows, columns);
    let flat = cx.reshape_to(planes, &shape);
    let step = cx.dim_add(columns, 1);
    let start = if offset >= 0 { Dim::Const(offset) } else { cx.dim_mul(columns, -offset) };
    let end = match (offset, rows == columns) {
        (0, true) => Dim::Const(i64::MAX),
        _ => cx.dim_add(start, cx.dim_mul(length, step)),
    };
    let [start, end, axis, step] = [start, end, Dim::Const(axis as i64), step].map(|d| cx.dims_value(&[d]));
    Ok(cx.op(op::Slice).input(flat).input(start).input(end).input(axis).input(step).one())
}

/// The last axis of `self` as the diagonal `offset` of new planes `dim1` × `dim2`, zero elsewhere.
#[lowering("aten.diag_embed.default", parts)]
fn diag_embed(cx: &Lower, x: Value, offset: i64, dim1: i64, dim2: i64) -> Res<Value> {
    let rank = cx.result(0)?.rank();
    let (dim1, dim2) = (cx.axis(dim1, rank)?, cx.axis(dim2, rank)?);
    // Where the planes' axes belong, the others in order.
    let mut others = 0..rank.saturating_sub(2);
    let place = |axis| {
        if axis == dim1 {
            rank.saturating_sub(2)
        } else if axis == dim2 {
            rank - 1
        } else {
            others.next().unwrap_or_default()
        }
    };
    let perm = (0..rank).map(place).collect();
    permuted(cx, embedded(cx, x, offset)?, perm)
}

/// Matrices with the last axis of `x` on the diagonal `offset`.
fn embedded(cx: &Lower, x: Value, offset: i64) -> Res<Value> {
    let shape = cx.shape(x)?;
    let Some((extent, outer)) = shape.split_last() else {
        return Err("argument `self` has no axis".into());
    };
    let mut x = x;
    if offset != 0 {
        let mut pads = vec![0; 2 * shape.len()];
        if let Some(last) = pads.last_mut() {
            *last = offset.abs();
        }
        x = cx.op(op::Pad).input(x).input(cx.ints(&pads)).one();
    }
    // Element k stands in row k of the column k + offset, or in column k where offset is negative.
    let side = cx.dim_add(*extent, offset.abs());
    let below = offset < 0;
    let apart = cx.unsqueeze(x, &[outer.len() as i64 + i64::from(!below)]);
    Ok(cx.select(on_diagonal(cx, side, offset), apart, 0))
}

/// The `n` × `n` matrix that is true on the diagonal `offset`.
fn on_diagonal(cx: &Lower, n: Dim, offset: i64) -> Value {
    if let Some(n) = n.as_const() {
        let bytes: Vec<u8> = (0..n * n).map(|i| u8::from(i % n - i / n == offset)).collect();
        return cx.constant(DType::Bool, &[n as u64, n as u64], &bytes);
    }
    let count = cx.squeeze(cx.dims_value(&[n]), &[0]);
    let columns = cx.range(cx.int(0), count, cx.int(1));
    cx.equal(cx.unsqueeze(columns + offset, &[1]), columns)
}

/// A matrix with the vector `self` on its diagonal, or the diagonal of the matrix `self`.
#[lowering("aten.diag.default", parts)]
fn diag(cx: &Lower, x: Value, diagonal: i64) -> Res<Value> {
    match cx.rank(x)? {
        1 => embedded(cx, x, diagonal),
        _ => self::diagonal(cx, x, diagonal, Axis(0), Axis(1)),
    }
}

/// A matrix with the elements of `self` on its diagonal.
#[lowering("aten.diagflat.default", parts)]
fn diagflat(cx: &Lower, x: Value, offset: i64) -> Res<Value> {
    let flat = if cx.rank(x)? == 1 { x } else { cx.reshape(x, &[-1]) };
    embedded(cx, flat, offset)
}

/// The sum of the main diagonal of a matrix.
#[lowering("aten.trace.default", parts)]
fn trace(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let shape = cx.shape(x)?;
    let &[rows, columns] = shape.as_slice() else { return Err("argument `self` is not a matrix".into()) };
    let side = cx.dim_max(rows, columns);
    let mut mask = on_diagonal(cx, side, 0);
    if rows != columns {
        let zero = cx.ints(&[0, 0]);
        mask = cx.op(op::Slice).input(mask).input(zero).input(cx.dims_value(&[rows, columns])).one();
    }
    let mask = expand_to(cx, mask, &[rows, columns])?;
    let x = cx.cast(x, dtype);
    Ok(cx.reduce(op::ReduceSum, cx.select(mask, x, 0), &[], false))
}
