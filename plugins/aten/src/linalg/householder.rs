//! Orthogonal factors, by Householder reflections `I - tau v v'` as LAPACK's `geqrf` makes them: `v` is zero above its
//! own row and one there, and the signs of the diagonal of `R` are its.

use onnxport_sdk::prelude::*;

use super::matrix::{
    Matrix, as_column, as_row, batch_of, identity, indices, normalized, outer, square_sum, with_batch,
};
use crate::control::rounds::repeat;
use crate::matmul::swap_last;

/// `R` on and above the diagonal, the reflections below, and their `tau`; of [`normalized`] matrices.
fn reflections(cx: &Lower, a: Value) -> Res<(Value, Value)> {
    let m = Matrix::new(cx, a)?;
    let smaller = m.smaller(cx);
    let steps = indices(cx, smaller);
    let shape = cx.shape(a)?;
    let factors = with_batch(cx, cx.cast(steps, m.dtype), batch_of(&shape, 2)?, 1)?;
    let [a, factors] = repeat(cx, m.rounds(cx, smaller)?, [a, factors], |k, [a, factors]| {
        let column = cx.gather(a, k, -1);
        let own = cx.gather(column, k, -1);
        let below = cx.select(cx.greater(m.rows, k), column, 0.0);
        let rest = square_sum(cx, below, -1)?;
        let norm = cx.sqrt(own * own + rest);
        let diagonal = cx.select(cx.less(own, 0.0), norm, -norm);
        // Nothing is reflected where the column is zero below the diagonal.
        let done = cx.equal(rest, 0.0);
        let factor = cx.select(done, 0.0, (diagonal - own) / diagonal);
        let tail = below / as_column(cx, own - diagonal);
        let tail = cx.select(as_column(cx, done), 0.0, tail);
        let here = cx.equal(m.rows, k);
        let reflection = cx.select(here, 1.0, tail);
        let shares = cx.squeeze(cx.matmul(as_row(cx, reflection), a), &[-2]);
        let later = cx.select(cx.greater(m.columns, k), shares, 0.0);
        let next = a - outer(cx, reflection * as_column(cx, factor), later);
        let diagonal = cx.select(done, own, diagonal);
        let stored = cx.select(here, as_column(cx, diagonal), cx.select(cx.greater(m.rows, k), tail, column));
        Ok([
            cx.select(cx.equal(m.columns, k), as_column(cx, stored), next),
            cx.select(cx.equal(steps, k), as_column(cx, factor), factors),
        ])
    })?;
    Ok((a, factors))
}

/// The product of the reflections below the diagonal of `a` with `x`; with their reverse product unless `forward`.
fn reflect(cx: &Lower, a: Value, factors: Value, x: Value, forward: bool) -> Res<Value> {
    let m = Matrix::new(cx, a)?;
    let count = cx.extent(factors, cx.rank(factors)? - 1);
    let last = cx.squeeze(count, &[0]) - 1i64;
    let [x] = repeat(cx, m.rounds(cx, count)?, [x], |k, [x]| {
        // The last reflection is the first to meet `x`.
        let k = if forward { last - k } else { k };
        let tail = cx.select(cx.greater(m.rows, k), cx.gather(a, k, -1), 0.0);
        let reflection = cx.select(cx.equal(m.rows, k), 1.0, tail);
        let shares = cx.matmul(as_row(cx, reflection), x);
        let scaled = reflection * as_column(cx, cx.gather(factors, k, -1));
        Ok([x - as_column(cx, scaled) * shares])
    })?;
    Ok(x)
}

/// The first `width` columns of the identity matrix, for every matrix of `like`.
fn unit_columns(cx: &Lower, m: &Matrix, width: Value, like: Value) -> Res<Value> {
    let shape = cx.shape(like)?;
    let eye = identity(cx, m.rows, indices(cx, width), m.dtype);
    with_batch(cx, eye, batch_of(&shape, 2)?, 2)
}

/// `Q` with all its columns, or with as many as there are pivots.
pub(super) struct Factored {
    pub(super) q: Value,
    pub(super) r: Value,
}

/// `A = Q R`, of [`normalized`] matrices.
pub(super) fn factor(cx: &Lower, a: Value, complete: bool) -> Res<Factored> {
    let m = Matrix::new(cx, a)?;
    let (both, factors) = reflections(cx, a)?;
    let kept = if complete { m.height } else { m.smaller(cx) };
    let q = reflect(cx, both, factors, unit_columns(cx, &m, kept, a)?, true)?;
    let upper = cx.select(cx.less_equal(as_column(cx, m.rows), m.columns), both, 0.0);
    let r = if complete { upper } else { cx.slice_dynamic(upper, -2, cx.ints(&[0]), kept, 1) };
    Ok(Factored { q, r })
}

/// `Q` and `R`; `mode` is `reduced`, `complete`, or `r` for an empty `Q`.
#[lowering("aten.linalg_qr.default")]
fn qr(cx: &Lower, a: Value, mode: Str) -> Res<(Value, Value)> {
    let (a, scale) = normalized(cx, a)?;
    let Factored { q, r } = factor(cx, a, mode.0 == "complete")?;
    let r = r * scale;
    if mode.0 != "r" {
        return Ok((q, r));
    }
    let empty = cx.result(0)?;
    let shape = cx.dims_value(&empty.shape);
    Ok((cx.constant_of_shape(shape, cx.filled(&Scalar::Int(0), empty.dtype, &[1])), r))
}

/// `R`, the reflections below it, and their `tau`.
#[lowering("aten.geqrf.default")]
fn geqrf(cx: &Lower, a: Value) -> Res<(Value, Value)> {
    let m = Matrix::new(cx, a)?;
    let (a, scale) = normalized(cx, a)?;
    let (both, factors) = reflections(cx, a)?;
    let upper = cx.less_equal(as_column(cx, m.rows), m.columns);
    Ok((cx.select(upper, both * scale, both), factors))
}

/// The first columns of the product of reflections.
#[lowering("aten.linalg_householder_product.default", "aten.orgqr.default")]
fn householder_product(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    let m = Matrix::new(cx, a)?;
    let eye = unit_columns(cx, &m, m.width, a)?;
    reflect(cx, a, b, eye, true)
}

/// `Q C`, `Q' C`, `C Q` or `C Q'` with the product `Q` of reflections.
#[lowering("aten.ormqr.default")]
fn ormqr(cx: &Lower, a: Value, input2: Value, input3: Value, left: bool, transpose: bool) -> Res<Value> {
    if left {
        return reflect(cx, a, input2, input3, !transpose);
    }
    // C Q is (Q' C')'.
    let transposed = swap_last(cx, input3)?;
    swap_last(cx, reflect(cx, a, input2, transposed, transpose)?)
}
