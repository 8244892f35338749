//! Eigenvalues of symmetric matrices and singular values, by Jacobi rotations.
//!
//! In round `r`, column `i` meets column `(r - i) mod n`: after `n` rounds, a sweep, each pair has met once. All pairs of
//! a round rotate at once. Sweeps converge quadratically; the loop ends when nothing is left to rotate. Source: G. Golub
//! and C. Van Loan, "Matrix Computations", 8.5 and 8.6.

use onnxport_sdk::prelude::*;

use super::householder::factor;
use super::matrix::{
    Matrix, as_column, as_row, batch_of, identity, is_empty, normalized, permuted, square_sum, sum,
    with_batch,
};
use crate::control::rounds::repeat_while;
use crate::matmul::swap_last;

/// Sweeps that no matrix needs.
const SWEEPS: i64 = 24;

/// The distance of 1 from the next number.
pub(super) fn epsilon(dtype: DType) -> f64 {
    if dtype == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) }
}

/// The cosines and sines that make columns orthogonal whose entries are `own`, `other` and, off the diagonal, `shared`.
/// Both columns of a pair compute the same cosine and opposite sines.
fn rotation(cx: &Lower, own: Value, other: Value, shared: Value, first: Value) -> (Value, Value) {
    let idle = cx.equal(shared, 0.0);
    let ratio = (other - own) / (cx.select(idle, 1.0, shared) * 2.0);
    let sign = cx.select(cx.equal(ratio, 0.0), first, cx.sign(ratio));
    let tangent = sign / (cx.abs(ratio) + cx.sqrt(ratio * ratio + 1.0));
    let tangent = cx.select(idle, 0.0, tangent);
    let cosine = cx.reciprocal(cx.sqrt(tangent * tangent + 1.0));
    (cosine, tangent * cosine)
}

/// The partners of all columns in a round, whether each is its own, and 1 for the first of a pair, -1 for the second.
fn partners(cx: &Lower, m: &Matrix, round: Value) -> (Value, Value, Value) {
    let partner = cx.modulo(round - m.columns, cx.squeeze(m.width, &[0]), false);
    let first = cx.cast(cx.sign(partner - m.columns), m.dtype);
    (partner, cx.equal(partner, m.columns), first)
}

/// The eigenvalues in no order, and the matrix of eigenvectors, of symmetric matrices.
fn diagonalize(cx: &Lower, a: Value) -> Res<(Value, Value)> {
    let m = Matrix::new(cx, a)?;
    let shape = cx.shape(a)?;
    let eye = identity(cx, m.rows, m.columns, m.dtype);
    let diagonal = cx.equal(as_column(cx, m.rows), m.columns);
    let vectors = with_batch(cx, eye, batch_of(&shape, 2)?, 2)?;
    let entries = |x: Value| sum(cx, cx.select(diagonal, x, 0.0), -1);
    let bound = cx.reduce(op::ReduceSum, a * a, &[-2, -1], false) * epsilon(m.dtype).powi(2);
    let count = m.rounds(cx, m.width * SWEEPS)?;
    let [a, vectors] = repeat_while(cx, count, [a, vectors], |round, [a, vectors]| {
        let (partner, own, first) = partners(cx, &m, round);
        let values = entries(a)?;
        let pairs = cx.equal(as_column(cx, m.rows), partner);
        // Row `i` holds the entry that it shares with its partner.
        let meeting = cx.equal(as_column(cx, partner), m.columns);
        let shared = cx.reduce(op::ReduceSum, cx.select(meeting, a, 0.0), &[-1], false);
        let shared = cx.select(own, 0.0, shared);
        let (cosine, sine) = rotation(cx, values, cx.gather(values, partner, -1), shared, first);
        // Column `i` of the rotation has its cosine on the diagonal, and the sine of its partner in its row.
        let others = cx.select(pairs, -as_row(cx, sine), 0.0);
        let rotation = cx.select(diagonal, as_row(cx, cosine), others);
        let a = cx.matmul(cx.matmul(swap_last(cx, rotation)?, a), rotation);
        // Rounding must not make the columns of a pair disagree about their rotation.
        let a = (a + swap_last(cx, a)?) * 0.5;
        let rest = cx.select(diagonal, 0.0, a);
        let rest = cx.reduce(op::ReduceSum, rest * rest, &[-2, -1], false);
        let going = cx.cast(cx.greater(rest, bound), DType::I32);
        let going = cx.cast(cx.reduce(op::ReduceMax, going, &[], false), DType::Bool);
        Ok((Some(going), [a, cx.matmul(vectors, rotation)]))
    })?;
    Ok((entries(a)?, vectors))
}

/// Values in order and the order itself.
fn sorted(cx: &Lower, values: Value, count: Value, largest: bool) -> Res<[Value; 2]> {
    // The order of nothing has another rank in ONNX Runtime.
    if is_empty(cx, values)? {
        return Ok([values, cx.cast(values, DType::I64)]);
    }
    Ok(cx.op(op::TopK).input(values).input(count).axis(-1).largest(largest).outs::<2>())
}

/// Values, one vector for each matrix, times the magnitudes of [`normalized`].
fn scaled(cx: &Lower, values: Value, scale: Value) -> Res<Value> {
    Ok(if cx.rank(scale)? == 0 { values } else { values * cx.squeeze(scale, &[-1]) })
}

/// The eigenvalues, the smallest first, and the eigenvectors, from one triangle.
pub(crate) fn eigen(cx: &Lower, a: Value, lower: bool) -> Res<(Value, Value)> {
    let m = Matrix::new(cx, a)?;
    let mirrored = swap_last(cx, a)?;
    let below = cx.greater_equal(as_column(cx, m.rows), m.columns);
    let (lower, upper) = if lower { (a, mirrored) } else { (mirrored, a) };
    let (symmetric, scale) = normalized(cx, cx.select(below, lower, upper))?;
    let (values, vectors) = diagonalize(cx, symmetric)?;
    let [values, order] = sorted(cx, values, m.width, false)?;
    Ok((scaled(cx, values, scale)?, permuted(cx, vectors, order, -1)?))
}

/// The columns of `a`, rotated until they are orthogonal, and the rotation.
fn orthogonalize(cx: &Lower, a: Value) -> Res<(Value, Value)> {
    let m = Matrix::new(cx, a)?;
    let shape = cx.shape(a)?;
    let eye = identity(cx, m.columns, m.columns, m.dtype);
    let vectors = with_batch(cx, eye, batch_of(&shape, 2)?, 2)?;
    let n = cx.squeeze(m.width, &[0]);
    let worst = cx.float(0.0, m.dtype);
    let state = [a, vectors, worst];
    let [a, vectors, _] =
        repeat_while(cx, m.rounds(cx, m.width * SWEEPS)?, state, |round, [a, vectors, worst]| {
            let (partner, own, first) = partners(cx, &m, round);
            let beside = cx.gather(a, partner, -1);
            let squares = square_sum(cx, a, -2)?;
            let others = cx.gather(squares, partner, -1);
            let shared = cx.reduce(op::ReduceSum, a * beside, &[-2], false);
            let scale = cx.sqrt(squares) * cx.sqrt(others);
            let angle = cx.abs(shared) / cx.select(cx.equal(scale, 0.0), 1.0, scale);
            let idle = own | cx.less_equal(angle, epsilon(m.dtype));
            let shared = cx.select(idle, 0.0, shared);
            let (cosine, sine) = rotation(cx, squares, others, shared, first);
            let (cosine, sine) = (as_row(cx, cosine), as_row(cx, sine));
            let rotated = |x: Value, beside: Value| x * cosine - beside * sine;
            // A sweep in which no pair was far from orthogonal is the last.
            let left = cx.select(idle, 0.0, angle);
            let left = cx.reduce(op::ReduceMax, left, &[], false);
            let place = cx.modulo(round, n, false);
            let worst = cx.max(cx.select(cx.equal(place, 0i64), 0.0, worst), left);
            let unfinished = !cx.equal(place, n - 1i64) | cx.greater(worst, 8.0 * epsilon(m.dtype));
            let vectors = rotated(vectors, cx.gather(vectors, partner, -1));
            Ok((Some(unfinished), [rotated(a, beside), vectors, worst]))
        })?;
    Ok((a, vectors))
}

/// The factors of a singular value decomposition.
pub(super) struct Singular {
    pub(super) u: Value,
    pub(super) values: Value,
    pub(super) v: Value,
}

/// `A = U diag(values) V'`, the largest value first; `full` has all columns of `U` and `V`.
pub(super) fn singular(cx: &Lower, a: Value, full: bool) -> Res<Singular> {
    let m = Matrix::new(cx, a)?;
    let shape = cx.shape(a)?;
    // The fewer columns, the shorter a sweep.
    let wide = match shape.as_slice() {
        [.., Dim::Const(rows), Dim::Const(columns)] => rows < columns,
        _ => false,
    };
    let (a, scale) = normalized(cx, a)?;
    let (columns, v) = orthogonalize(cx, if wide { swap_last(cx, a)? } else { a })?;
    let (count, smaller) = (if wide { m.height } else { m.width }, m.smaller(cx));
    let lengths = cx.sqrt(square_sum(cx, columns, -2)?);
    let [values, order] = sorted(cx, lengths, count, true)?;
    let first = |x: Value| cx.slice_dynamic(x, -1, cx.ints(&[0]), smaller, 1);
    let (columns, v) = (permuted(cx, columns, order, -1)?, permuted(cx, v, order, -1)?);
    // Orthogonal columns have a diagonal `R`: `Q` is `U` but for signs, also where a singular value is zero.
    let factors = factor(cx, columns, full)?;
    let r = Matrix::new(cx, factors.r)?;
    let on_diagonal = cx.equal(as_column(cx, r.rows), r.columns);
    let diagonal = sum(cx, cx.select(on_diagonal, r.value, 0.0), -1)?;
    let u = factors.q * as_row(cx, cx.select(cx.less(diagonal, 0.0), -1.0, cx.float(1.0, m.dtype)));
    let (values, v) = (scaled(cx, first(values), scale)?, if full { v } else { first(v) });
    Ok(if wide { Singular { u: v, values, v: u } } else { Singular { u, values, v } })
}
