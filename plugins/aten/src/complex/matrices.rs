//! Matrices of complex numbers, as matrices of reals: `a + bi` becomes the block `[[a, -b], [b, a]]`.
//!
//! Sums, products, inverses and pseudoinverses of such matrices are again of this form, and a triangular one with real
//! numbers on its diagonal is the Cholesky factor of one. Every eigenvalue and singular value appears twice, and vectors
//! that belong to equal values need not be of this form: `linalg` has loops over complex entries for these.

use onnxport_sdk::prelude::*;

use super::Complex;
use crate::linalg::elimination::{both_factors, form_of, inv_ex, order_of, permutation, solved};
use crate::linalg::entries::Entries;
use crate::linalg::matrix::{Matrix, as_column, with_batch};
use crate::linalg::square::{exponential, power};
use crate::linalg::triangular::{by_factor, cholesky_of};
use crate::matmul::swap_last;

/// Matrices of blocks for matrices of pairs, `[..., m, n, 2]`.
fn blocks(cx: &Lower, pairs: Value) -> Res<Value> {
    let shape = cx.shape(pairs)?;
    let [batch @ .., rows, columns, _] = &*shape else { return Err("a matrix has two axes".into()) };
    let times_i = cx.gather(pairs, cx.ints(&[1, 0]), -1) * cx.numbers(&[-1.0, 1.0], cx.dtype(pairs)?);
    // Columns of blocks: the number, and the number times i.
    let both = cx.concat(&[cx.unsqueeze(pairs, &[-1]), cx.unsqueeze(times_i, &[-1])], -1);
    let both = cx.op(op::Transpose).input(both).perm(swapped(shape.len())).one();
    let two = Dim::Const(2);
    let target = [batch, &[cx.dim_mul(*rows, two), cx.dim_mul(*columns, two)]].concat();
    Ok(cx.reshape_to(both, &target))
}

/// The axes `[..., m, n, 2, 2]` as `[..., m, 2, n, 2]`.
fn swapped(rank: usize) -> Vec<i64> {
    let mut perm: Vec<i64> = (0..=rank as i64).collect();
    perm.swap(rank - 2, rank - 1);
    perm
}

/// The pairs of matrices of blocks.
fn unblocked(cx: &Lower, blocks: Value) -> Res<Value> {
    // The first column of every block.
    let columns = every_second(cx, blocks);
    let shape = cx.shape(columns)?;
    let [batch @ .., rows, width] = &*shape else { return Err("a matrix has two axes".into()) };
    let two = Dim::Const(2);
    let split = cx.reshape_to(columns, &[batch, &[cx.dim_div(*rows, two), two, *width]].concat());
    swap_last(cx, split)
}

/// The elements of vectors at even positions.
fn every_second(cx: &Lower, x: Value) -> Value {
    cx.slice(x, -1, 0, i64::MAX, 2)
}

/// The number of a pivot from that of a row of blocks, both counted from 1.
fn pivot_number(info: Value) -> Value {
    (info + 1i64) / 2i64
}

/// The conjugate transposes of matrices.
fn adjoint(cx: &Lower, pairs: Value) -> Res<Value> {
    let rank = cx.rank(pairs)?;
    let mut perm: Vec<i64> = (0..rank as i64).collect();
    perm.swap(rank - 3, rank - 2);
    let transposed = cx.op(op::Transpose).input(pairs).perm(&perm).one();
    Ok(Complex::of(cx, transposed).conjugate().pairs(cx))
}

/// The Hermitian matrices that have one triangle, with a real diagonal.
fn hermitian(cx: &Lower, pairs: Value, lower: bool) -> Res<Value> {
    let m = Matrix::new(cx, cx.gather(pairs, cx.int(0), -1))?;
    let other = adjoint(cx, pairs)?;
    let (lower, upper) = if lower { (pairs, other) } else { (other, pairs) };
    let below = cx.unsqueeze(cx.greater_equal(as_column(cx, m.rows), m.columns), &[-1]);
    let z = Complex::of(cx, cx.select(below, lower, upper));
    let diagonal = cx.unsqueeze(cx.equal(as_column(cx, m.rows), m.columns), &[-1]);
    Ok(Complex { re: z.re, im: cx.select(diagonal, 0.0, z.im) }.pairs(cx))
}

/// The solution, and 0 unless a pivot is zero.
#[lowering("aten.linalg_solve_ex.default", complex)]
fn solve_ex(cx: &Lower, a: Value, b: Value, left: bool) -> Res<(Value, Value)> {
    let (batch, vectors) = form_of(cx, cx.rank(a)? - 1)?;
    let b = if vectors { cx.unsqueeze(b, &[-2]) } else { b };
    let (x, info) = solved(cx, blocks(cx, a)?, blocks(cx, b)?, left, &batch)?;
    let x = unblocked(cx, x)?;
    Ok((if vectors { cx.squeeze(x, &[-2]) } else { x }, pivot_number(info)))
}

/// The same; PyTorch also returns the factors of `A` or of its transpose, as they lie in memory.
#[lowering("aten._linalg_solve_ex.default", complex)]
fn solve_with_factors(cx: &Lower, a: Value, b: Value, left: bool) -> Res<Vec<Option<Value>>> {
    let (x, info) = solve_ex(cx, a, b, left)?;
    Ok(vec![Some(x), None, None, Some(info)])
}

/// The solution.
#[lowering("aten.linalg_solve.default", complex)]
fn solve(cx: &Lower, a: Value, b: Value, left: bool) -> Res<Value> {
    Ok(solve_ex(cx, a, b, left)?.0)
}

/// The inverse, and 0 unless a pivot is zero.
#[lowering("aten.linalg_inv_ex.default", "aten.inverse.default", "aten.linalg_inv.default", complex)]
fn inverse(cx: &Lower, a: Value) -> Res<(Value, Value)> {
    let (inverse, info) = inv_ex(cx, blocks(cx, a)?)?;
    Ok((unblocked(cx, inverse)?, pivot_number(info)))
}

/// The permutation matrices of lists of exchanges of rows.
fn permuting(cx: &Lower, both: Value, pivots: Value) -> Res<Value> {
    let m = Matrix::new(cx, cx.gather(both, cx.int(0), -1))?;
    Ok(permutation(cx, order_of(cx, pivots, m.rows)?, m.rows, m.dtype))
}

/// `X` with `A X = B`, or `X A = B` unless `left`, and of the adjoint of `A` if `adjoint`, from the factors of `A`.
#[lowering("aten.linalg_lu_solve.default", complex)]
fn lu_solve(cx: &Lower, a: Value, pivots: Value, left: bool, adjoint: bool) -> Res<Value> {
    let (both, b): (Value, Value) = (a, cx.positional(2)?);
    let (lower, upper) = both_factors(cx, Entries::of_pairs(cx, both))?;
    let product = lower.matmul(cx, upper);
    let permutation = permuting(cx, both, pivots)?;
    let matrix = Entries::from(permutation).matmul(cx, product).value(cx);
    let matrix = if adjoint { self::adjoint(cx, matrix)? } else { matrix };
    let (batch, _) = form_of(cx, cx.rank(matrix)? - 1)?;
    unblocked(cx, solved(cx, blocks(cx, matrix)?, blocks(cx, b)?, left, &batch)?.0)
}

/// The `n`-th power of every matrix.
#[lowering("aten.matrix_power.default", "aten.linalg_matrix_power.default", complex)]
fn matrix_power(cx: &Lower, x: Value, n: i64) -> Res<Value> {
    unblocked(cx, power(cx, blocks(cx, x)?, n)?)
}

/// The exponential of every matrix.
#[lowering("aten.linalg_matrix_exp.default", "aten.matrix_exp.default", complex)]
fn matrix_exp(cx: &Lower, x: Value) -> Res<Value> {
    unblocked(cx, exponential(cx, blocks(cx, x)?)?)
}

/// The factor of a positive definite matrix, and 0 unless it is not one.
#[lowering("aten.linalg_cholesky_ex.default", "aten.linalg_cholesky.default", complex)]
fn cholesky(cx: &Lower, a: Value, upper: bool) -> Res<(Value, Value)> {
    let (lower, info) = cholesky_of(cx, blocks(cx, hermitian(cx, a, !upper)?)?)?;
    let lower = unblocked(cx, lower)?;
    Ok((if upper { adjoint(cx, lower)? } else { lower }, pivot_number(info)))
}

/// `X` with `A X = B`, from the factor of `A`.
#[lowering("aten.cholesky_solve.default", complex)]
fn cholesky_solve(cx: &Lower, x: Value, input2: Value, upper: bool) -> Res<Value> {
    let (batch, _) = form_of(cx, cx.rank(input2)? - 1)?;
    let (factor, b) = (with_batch(cx, input2, &batch, 3)?, with_batch(cx, x, &batch, 3)?);
    unblocked(cx, by_factor(cx, blocks(cx, factor)?, blocks(cx, b)?, upper)?)
}
