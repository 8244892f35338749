//! Systems of triangular matrices, by substitution.

use onnxport_sdk::prelude::*;

use super::matrix::{Matrix, as_column, as_row, batch_of, identity, with_batch};
use crate::control::rounds::repeat;
use crate::matmul::swap_last;

/// The form of a triangular matrix, of which no other entries are read.
#[derive(Clone, Copy)]
pub(super) struct Triangle {
    /// Whether it is the upper triangle.
    pub(super) upper: bool,
    /// Whether its diagonal counts as ones.
    pub(super) unit: bool,
}

/// `X` with `A X = B`: row by row, of the rows that are known.
pub(super) fn substitute(cx: &Lower, a: Value, b: Value, form: Triangle) -> Res<Value> {
    let (m, right) = (Matrix::new(cx, a)?, Matrix::new(cx, b)?);
    let last = cx.squeeze(m.height, &[0]) - 1i64;
    let [x] = repeat(cx, right.rounds(cx, m.height)?, [right.zeros(cx)], |k, [x]| {
        let i = if form.upper { last - k } else { k };
        let row = cx.gather(a, i, -2);
        let known = if form.upper { cx.greater(m.columns, i) } else { cx.less(m.columns, i) };
        let others = cx.matmul(as_row(cx, cx.select(known, row, 0.0)), x);
        let rest = as_row(cx, cx.gather(b, i, -2)) - others;
        let rest = if form.unit { rest } else { rest / as_column(cx, as_column(cx, cx.gather(row, i, -1))) };
        Ok([cx.select(as_column(cx, cx.equal(m.rows, i)), rest, x)])
    })?;
    Ok(x)
}

/// `X` with `A X = B`, or `X A = B` unless `left`, for the batches of the result.
fn solved(cx: &Lower, a: Value, b: Value, left: bool, form: Triangle, batch: &[Dim]) -> Res<Value> {
    let (a, b) = (with_batch(cx, a, batch, 2)?, with_batch(cx, b, batch, 2)?);
    if left {
        return substitute(cx, a, b, form);
    }
    let transposed = Triangle { upper: !form.upper, unit: form.unit };
    swap_last(cx, substitute(cx, swap_last(cx, a)?, swap_last(cx, b)?, transposed)?)
}

/// `X` with `A X = B`, or `X A = B` unless `left`.
#[lowering("aten.linalg_solve_triangular.default")]
fn solve_triangular(
    cx: &Lower,
    a: Value,
    b: Value,
    upper: bool,
    left: bool,
    unitriangular: bool,
) -> Res<Value> {
    let result = cx.result(0)?.shape;
    solved(cx, a, b, left, Triangle { upper, unit: unitriangular }, batch_of(&result, 2)?)
}

/// `X` with `A X = B`, or of the transposed `A`; and `A`.
#[lowering("aten.triangular_solve.default")]
fn triangular_solve(
    cx: &Lower,
    x: Value,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
) -> Res<(Value, Value)> {
    let (a, b): (Value, Value) = (cx.positional(1)?, x);
    let result = cx.result(0)?.shape;
    let batch = batch_of(&result, 2)?;
    let whole = with_batch(cx, a, batch, 2)?;
    let (a, upper) = if transpose { (swap_last(cx, a)?, !upper) } else { (a, upper) };
    let x = solved(cx, a, b, true, Triangle { upper, unit: unitriangular }, batch)?;
    Ok((x, whole))
}

/// The lower factors `L` of `A = L L'`, from the lower triangle, and 0 unless a pivot is not positive.
pub(crate) fn cholesky_of(cx: &Lower, a: Value) -> Res<(Value, Value)> {
    let m = Matrix::new(cx, a)?;
    let info = m.per_matrix(cx, &Scalar::Int(0), DType::I32)?;
    let [_, lower, info] =
        repeat(cx, m.rounds(cx, m.height)?, [a, m.zeros(cx), info], |k, [a, lower, info]| {
            let column = cx.gather(a, k, -1);
            let pivot = cx.gather(column, k, -1);
            let column = column / as_column(cx, cx.sqrt(pivot));
            let column = cx.select(cx.greater_equal(m.rows, k), column, 0.0);
            let first = !cx.greater(pivot, 0.0) & cx.equal(info, 0i64);
            Ok([
                a - as_column(cx, column) * as_row(cx, column),
                cx.select(cx.equal(m.columns, k), as_column(cx, column), lower),
                cx.select(first, cx.cast(k + 1i64, DType::I32), info),
            ])
        })?;
    Ok((lower, info))
}

/// The factor of a positive definite matrix, and 0 unless it is not one. PyTorch raises an error then.
#[lowering("aten.linalg_cholesky_ex.default")]
fn cholesky_ex(cx: &Lower, a: Value, upper: bool) -> Res<(Value, Value)> {
    if !upper {
        return cholesky_of(cx, a);
    }
    let (lower, info) = cholesky_of(cx, swap_last(cx, a)?)?;
    Ok((swap_last(cx, lower)?, info))
}

/// The factor of a positive definite matrix.
#[lowering("aten.linalg_cholesky.default")]
fn cholesky(cx: &Lower, a: Value, upper: bool) -> Res<Value> {
    Ok(cholesky_ex(cx, a, upper)?.0)
}

/// `X` with `A X = B`, from the factor of `A`.
#[lowering("aten.cholesky_solve.default")]
fn cholesky_solve(cx: &Lower, x: Value, input2: Value, upper: bool) -> Res<Value> {
    let result = cx.result(0)?.shape;
    let batch = batch_of(&result, 2)?;
    let (factor, b) = (with_batch(cx, input2, batch, 2)?, with_batch(cx, x, batch, 2)?);
    by_factor(cx, factor, b, upper)
}

pub(crate) fn by_factor(cx: &Lower, factor: Value, b: Value, upper: bool) -> Res<Value> {
    let transposed = swap_last(cx, factor)?;
    let (first, second) = if upper { (transposed, factor) } else { (factor, transposed) };
    let y = substitute(cx, first, b, Triangle { upper: false, unit: false })?;
    substitute(cx, second, y, Triangle { upper: true, unit: false })
}

/// The inverse of `A`, from its factor.
#[lowering("aten.cholesky_inverse.default")]
fn cholesky_inverse(cx: &Lower, x: Value, upper: bool) -> Res<Value> {
    let m = Matrix::new(cx, x)?;
    let shape = cx.shape(x)?;
    let eye = with_batch(cx, identity(cx, m.rows, m.columns, m.dtype), batch_of(&shape, 2)?, 2)?;
    by_factor(cx, x, eye, upper)
}
