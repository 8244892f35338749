//! Elimination with partial pivoting: factors, solutions and inverses.
//!
//! Pivots and factors are those of LAPACK's `getrf`: the largest entry of the column by absolute value, the first of
//! equal ones.

use onnxport_sdk::prelude::*;

use super::entries::{Entries, outer as outer_of, repeat as repeat_entries};
use super::matrix::{
    Matrix, as_column, as_row, batch_of, identity, indices, outer, permuted, picked, with_batch,
};
use super::triangular::{Triangle, substitute};
use crate::control::rounds::repeat;
use crate::matmul::swap_last;

/// The order of rows after the exchange of row `k` and row `with`, one for each matrix.
fn exchange(cx: &Lower, rows: Value, k: Value, with: Value) -> Value {
    let with = as_column(cx, with);
    cx.select(cx.equal(rows, k), with, cx.select(cx.equal(rows, with), k, rows))
}

/// The row of the pivot of column `k`, which has these magnitudes.
fn pivot_row(cx: &Lower, rows: Value, magnitudes: Value, k: Value) -> Value {
    let candidates = cx.select(cx.greater_equal(rows, k), magnitudes, -1.0);
    cx.op(op::ArgMax).input(candidates).axis(-1).keepdims(false).one()
}

/// Both factors in one matrix, the rows that were exchanged, counted from 1, and the first pivot that is zero, counted
/// from 1, or 0.
pub(super) struct Factors {
    pub(super) both: Entries,
    pub(super) pivots: Value,
    order: Value,
    info: Value,
}

pub(super) fn factorize(cx: &Lower, a: Entries) -> Res<Factors> {
    let m = Matrix::new(cx, a.re)?;
    let smaller = m.smaller(cx);
    let steps = indices(cx, smaller);
    let row_ids = batched(cx, m.rows, a.re)?;
    let pivots = cx.cast(batched(cx, steps, a.re)?, DType::I32);
    let info = m.per_matrix(cx, &Scalar::Int(0), DType::I32)?;
    let state = [a, pivots.into(), row_ids.into(), info.into()];
    let [both, pivots, order, info] =
        repeat_entries(cx, m.rounds(cx, smaller)?, state, |k, [a, pivots, order, info]| {
            let with = pivot_row(cx, m.rows, a.gather(cx, k, -1).magnitudes(cx), k);
            let moved = exchange(cx, m.rows, k, with);
            let a = a.permuted(cx, moved, -2)?;
            let (row, column) = (a.gather(cx, k, -2), a.gather(cx, k, -1));
            let pivot = row.gather(cx, k, -1);
            let singular = pivot.are_zero(cx);
            let below = cx.greater(m.rows, k);
            let usable = below & !as_column(cx, singular);
            let factor = column.over(cx, pivot.column(cx)).kept(cx, usable);
            let rest = row.kept(cx, cx.greater(m.columns, k));
            let next = a - outer_of(cx, factor, rest);
            let stored = factor.or(cx, usable, column).column(cx);
            let here = cx.equal(m.columns, k) & as_column(cx, below);
            let number = cx.cast(k + 1i64, DType::I32);
            let first = singular & cx.equal(info.re, 0i64);
            let exchanged = as_column(cx, cx.cast(with + 1i64, DType::I32));
            Ok([
                stored.or(cx, here, next),
                cx.select(cx.equal(steps, k), exchanged, pivots.re).into(),
                picked(cx, order.re, moved).into(),
                cx.select(first, number, info.re).into(),
            ])
        })?;
    Ok(Factors { both, pivots: pivots.re, order: order.re, info: info.re })
}

/// A vector, repeated for every matrix of `like`.
fn batched(cx: &Lower, vector: Value, like: Value) -> Res<Value> {
    let shape = cx.shape(like)?;
    with_batch(cx, vector, batch_of(&shape, 2)?, 1)
}

/// The factors `L` and `U` of a matrix that holds both; `L` has ones on its diagonal.
pub(crate) fn both_factors(cx: &Lower, both: Entries) -> Res<(Entries, Entries)> {
    let m = Matrix::new(cx, both.re)?;
    let smaller = m.smaller(cx);
    let steps = indices(cx, smaller);
    let first = |axis| move |part| cx.slice_dynamic(part, axis, cx.ints(&[0]), smaller, 1);
    let (left, right) = (both.map(first(-1)), both.map(first(-2)));
    let diagonal = cx.equal(as_column(cx, m.rows), steps);
    let strict = left.kept(cx, cx.greater(as_column(cx, m.rows), steps));
    let upper = right.kept(cx, cx.less_equal(as_column(cx, steps), m.columns));
    Ok((strict.with(cx, diagonal, 1.0), upper))
}

/// The permutation matrix `P` of `A = P L U`.
pub(crate) fn permutation(cx: &Lower, order: Value, rows: Value, dtype: DType) -> Value {
    cx.cast(cx.equal(as_column(cx, rows), as_row(cx, order)), dtype)
}

/// The order of rows that a list of exchanges makes.
pub(crate) fn order_of(cx: &Lower, pivots: Value, rows: Value) -> Res<Value> {
    let shape = cx.shape(pivots)?;
    let start = with_batch(cx, rows, batch_of(&shape, 1)?, 1)?;
    let count = cx.extent(pivots, shape.len() - 1);
    let pivots = cx.cast(pivots, DType::I64);
    let [order] = repeat(cx, count, [start], |k, [order]| {
        let with = cx.gather(pivots, k, -1) - 1i64;
        Ok([picked(cx, order, exchange(cx, rows, k, with))])
    })?;
    Ok(order)
}

fn check_pivoted(pivot: bool) -> Res<()> {
    if pivot {
        return Ok(());
    }
    Err("`pivot=False` is not supported: PyTorch has it on CUDA only".into())
}

/// The factors in one matrix, the exchanges, and 0 unless a pivot is zero.
#[lowering("aten.linalg_lu_factor_ex.default", "aten.linalg_lu_factor.default", complex)]
fn lu_factor(cx: &Lower, pivot: bool) -> Res<(Value, Value, Value)> {
    check_pivoted(pivot)?;
    let factors = factorize(cx, Entries::argument(cx, "a")?)?;
    Ok((factors.both.value(cx), factors.pivots, factors.info))
}

/// `A = P L U`.
#[lowering("aten.linalg_lu.default", complex)]
fn lu(cx: &Lower, pivot: bool) -> Res<(Value, Value, Value)> {
    check_pivoted(pivot)?;
    let a = Entries::argument(cx, "a")?;
    let m = Matrix::new(cx, a.re)?;
    let factors = factorize(cx, a)?;
    let (lower, upper) = both_factors(cx, factors.both)?;
    let permutation = Entries::from(permutation(cx, factors.order, m.rows, m.dtype)).alike(a);
    Ok((permutation.value(cx), lower.value(cx), upper.value(cx)))
}

/// `P`, `L` and `U` from the factors in one matrix and the exchanges.
#[lowering("aten.lu_unpack.default", complex)]
fn lu_unpack(cx: &Lower, unpack_data: bool, unpack_pivots: bool) -> Res<Vec<Option<Value>>> {
    let a = Entries::argument(cx, "a")?;
    let m = Matrix::new(cx, a.re)?;
    let factors = if unpack_data { Some(both_factors(cx, a)?) } else { None };
    let order = if unpack_pivots { Some(order_of(cx, cx.positional(1)?, m.rows)?) } else { None };
    let permutation =
        order.map(|order| Entries::from(permutation(cx, order, m.rows, m.dtype)).alike(a).value(cx));
    let (lower, upper) = factors.unzip();
    Ok(vec![permutation, lower.map(|factor| factor.value(cx)), upper.map(|factor| factor.value(cx))])
}

/// `X` with `A X = B`, by Gauss-Jordan elimination of both.
fn eliminate(cx: &Lower, a: Value, b: Value) -> Res<(Value, Value)> {
    let m = Matrix::new(cx, a)?;
    let info = m.per_matrix(cx, &Scalar::Int(0), DType::I32)?;
    let [_, x, info] = repeat(cx, m.rounds(cx, m.height)?, [a, b, info], |k, [a, b, info]| {
        let with = pivot_row(cx, m.rows, cx.abs(cx.gather(a, k, -1)), k);
        let moved = exchange(cx, m.rows, k, with);
        let (a, b) = (permuted(cx, a, moved, -2)?, permuted(cx, b, moved, -2)?);
        let (row, column) = (cx.gather(a, k, -2), cx.gather(a, k, -1));
        let pivot = cx.gather(row, k, -1);
        let first = cx.equal(pivot, 0.0) & cx.equal(info, 0i64);
        let own = cx.equal(m.rows, k);
        let factor = cx.select(own, 0.0, column);
        let step = |x: Value, row: Value| {
            let row = row / as_column(cx, pivot);
            cx.select(as_column(cx, own), as_row(cx, row), x - outer(cx, factor, row))
        };
        Ok([
            step(a, row),
            step(b, cx.gather(b, k, -2)),
            cx.select(first, cx.cast(k + 1i64, DType::I32), info),
        ])
    })?;
    Ok((x, info))
}

/// The batch of a solution, and whether `B` is the vector of a column.
pub(crate) fn form_of(cx: &Lower, rank: usize) -> Res<(Vec<Dim>, bool)> {
    let result = cx.result(0)?.shape;
    let vectors = result.len() + 1 == rank;
    Ok((batch_of(&result, if vectors { 1 } else { 2 })?.to_vec(), vectors))
}

/// Matrices `X` with `A X = B`, or `X A = B` unless `left`, and 0 unless a pivot is zero.
pub(crate) fn solved(cx: &Lower, a: Value, b: Value, left: bool, batch: &[Dim]) -> Res<(Value, Value)> {
    let (a, b) = if left { (a, b) } else { (swap_last(cx, a)?, swap_last(cx, b)?) };
    let (a, b) = (with_batch(cx, a, batch, 2)?, with_batch(cx, b, batch, 2)?);
    let (x, info) = eliminate(cx, a, b)?;
    Ok((if left { x } else { swap_last(cx, x)? }, info))
}

/// The solution, and 0 unless a pivot is zero.
#[lowering("aten.linalg_solve_ex.default")]
fn solve_ex(cx: &Lower, a: Value, b: Value, left: bool) -> Res<(Value, Value)> {
    let (batch, vectors) = form_of(cx, cx.rank(a)?)?;
    if !vectors {
        return solved(cx, a, b, left, &batch);
    }
    let (x, info) = solved(cx, a, as_column(cx, b), left, &batch)?;
    Ok((cx.squeeze(x, &[-1]), info))
}

/// The same; PyTorch also returns the factors of `A` or of its transpose, as they lie in memory.
#[lowering("aten._linalg_solve_ex.default")]
fn solve_with_factors(cx: &Lower, a: Value, b: Value, left: bool) -> Res<Vec<Option<Value>>> {
    let (x, info) = solve_ex(cx, a, b, left)?;
    Ok(vec![Some(x), None, None, Some(info)])
}

/// The solution.
#[lowering("aten.linalg_solve.default")]
fn solve(cx: &Lower, a: Value, b: Value, left: bool) -> Res<Value> {
    Ok(solve_ex(cx, a, b, left)?.0)
}

/// The inverse, and 0 unless a pivot is zero.
#[lowering("aten.linalg_inv_ex.default")]
pub(crate) fn inv_ex(cx: &Lower, a: Value) -> Res<(Value, Value)> {
    let m = Matrix::new(cx, a)?;
    let shape = cx.shape(a)?;
    let eye = with_batch(cx, identity(cx, m.rows, m.columns, m.dtype), batch_of(&shape, 2)?, 2)?;
    eliminate(cx, a, eye)
}

/// The inverse.
#[lowering("aten.inverse.default", "aten.linalg_inv.default")]
pub(crate) fn inverse(cx: &Lower, a: Value) -> Res<Value> {
    Ok(inv_ex(cx, a)?.0)
}

/// `X` with `A X = B`, `X A = B` unless `left`, and of the transposed `A` if `adjoint`, from the factors of `A`.
#[lowering("aten.linalg_lu_solve.default")]
fn lu_solve(cx: &Lower, a: Value, pivots: Value, left: bool, adjoint: bool) -> Res<Value> {
    let (both, b): (Value, Value) = (a, cx.positional(2)?);
    let m = Matrix::new(cx, both)?;
    let result = cx.result(0)?.shape;
    let batch = batch_of(&result, 2)?;
    let order = with_batch(cx, order_of(cx, pivots, m.rows)?, batch, 1)?;
    let both = with_batch(cx, both, batch, 2)?;
    let b = with_batch(cx, b, batch, 2)?;
    let b = if left { b } else { swap_last(cx, b)? };
    let lower = Triangle { upper: false, unit: true };
    let upper = Triangle { upper: true, unit: false };
    // X A = B is A' X' = B'.
    let x = if adjoint == left {
        let transposed = swap_last(cx, both)?;
        let y = substitute(cx, transposed, b, Triangle { upper: false, unit: false })?;
        let z = substitute(cx, transposed, y, Triangle { upper: true, unit: true })?;
        // The inverse of the order.
        let back = cx.op(op::TopK).input(order).input(m.height).axis(-1).largest(false).outs::<2>()[1];
        permuted(cx, z, back, -2)?
    } else {
        let y = substitute(cx, both, permuted(cx, b, order, -2)?, lower)?;
        substitute(cx, both, y, upper)?
    };
    if left { Ok(x) } else { swap_last(cx, x) }
}
