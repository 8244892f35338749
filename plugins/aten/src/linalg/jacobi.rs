//! Eigenvalues of symmetric matrices and singular values, by Jacobi rotations.
//!
//! In round `r`, column `i` meets column `(r - i) mod n`: after `n` rounds, a sweep, each pair has met once. All pairs of
//! a round rotate at once. Sweeps converge quadratically; the loop ends when nothing is left to rotate. Source: G. Golub
//! and C. Van Loan, "Matrix Computations", 8.5 and 8.6.

use onnxport_sdk::prelude::*;

use super::entries::{Entries, repeat_while};
use super::householder::factor;
use super::matrix::{Matrix, as_column, as_row, batch_of, identity, is_empty, sum, with_batch};

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

/// Entries that two columns share, rotated to real numbers, and the unit numbers that rotate these back.
fn rotated(cx: &Lower, shared: Entries) -> (Value, Entries) {
    if shared.im.is_none() {
        return (shared.re, shared);
    }
    let size = shared.sizes(cx);
    let divisor = cx.select(cx.equal(size, 0.0), 1.0, size);
    (size, shared.map(|part| part / divisor))
}

/// The sines times the conjugates of the unit numbers of [`rotated`].
fn unrotated(sine: Value, unit: Entries) -> Entries {
    match unit.im {
        None => sine.into(),
        Some(_) => unit.conjugate() * sine.into(),
    }
}

/// The eigenvalues in no order, and the matrix of eigenvectors, of Hermitian matrices.
fn diagonalize(cx: &Lower, a: Entries) -> Res<(Value, Entries)> {
    let m = Matrix::new(cx, a.re)?;
    let shape = cx.shape(a.re)?;
    let eye = identity(cx, m.rows, m.columns, m.dtype);
    let diagonal = cx.equal(as_column(cx, m.rows), m.columns);
    let vectors = Entries::from(with_batch(cx, eye, batch_of(&shape, 2)?, 2)?).alike(a);
    let entries = |x: Value| sum(cx, cx.select(diagonal, x, 0.0), -1);
    let bound = cx.reduce(op::ReduceSum, a.squares(), &[-2, -1], false) * epsilon(m.dtype).powi(2);
    let count = m.rounds(cx, m.width * SWEEPS)?;
    let [a, vectors] = repeat_while(cx, count, [a, vectors], |round, [a, vectors]| {
        let (partner, own, first) = partners(cx, &m, round);
        let values = entries(a.re)?;
        let pairs = cx.equal(as_column(cx, m.rows), partner);
        // Row `i` holds the entry that it shares with its partner.
        let meeting = cx.equal(as_column(cx, partner), m.columns);
        let (shared, unit) = rotated(cx, a.kept(cx, meeting).sum(cx, -1)?);
        let shared = cx.select(own, 0.0, shared);
        let (cosine, sine) = rotation(cx, values, cx.gather(values, partner, -1), shared, first);
        // Column `i` of the rotation has its cosine on the diagonal, and the sine of its partner in its row.
        let others = unrotated(-sine, unit).row(cx).kept(cx, pairs);
        let rotation = others.with(cx, diagonal, as_row(cx, cosine));
        let a = rotation.adjoint(cx)?.matmul(cx, a).matmul(cx, rotation);
        // Rounding must not make the columns of a pair disagree about their rotation.
        let a = (a + a.adjoint(cx)?).map(|part| part * 0.5);
        let rest = a.with(cx, diagonal, 0.0).squares();
        let rest = cx.reduce(op::ReduceSum, rest, &[-2, -1], false);
        let going = cx.cast(cx.greater(rest, bound), DType::I32);
        let going = cx.cast(cx.reduce(op::ReduceMax, going, &[], false), DType::Bool);
        Ok((Some(going), [a, vectors.matmul(cx, rotation)]))
    })?;
    Ok((entries(a.re)?, vectors))
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

/// The Hermitian matrices that have one triangle, with a real diagonal.
pub(super) fn hermitian(cx: &Lower, m: &Matrix, a: Entries, lower: bool) -> Res<Entries> {
    let mirrored = a.adjoint(cx)?;
    let rows = as_column(cx, m.rows);
    let (lower, upper) = if lower { (a, mirrored) } else { (mirrored, a) };
    let both = lower.or(cx, cx.greater_equal(rows, m.columns), upper);
    let im = both.im.map(|im| cx.select(cx.equal(rows, m.columns), 0.0, im));
    Ok(Entries { re: both.re, im })
}

/// The eigenvalues, the smallest first, and the eigenvectors, from one triangle.
pub(super) fn eigen(cx: &Lower, a: Entries, lower: bool) -> Res<(Value, Entries)> {
    let m = Matrix::new(cx, a.re)?;
    let (symmetric, scale) = hermitian(cx, &m, a, lower)?.normalized(cx)?;
    let (values, vectors) = diagonalize(cx, symmetric)?;
    let [values, order] = sorted(cx, values, m.width, false)?;
    Ok((scaled(cx, values, scale)?, vectors.permuted(cx, order, -1)?))
}

/// The columns of `a`, rotated until they are orthogonal, and the rotation.
fn orthogonalize(cx: &Lower, a: Entries) -> Res<(Entries, Entries)> {
    let m = Matrix::new(cx, a.re)?;
    let shape = cx.shape(a.re)?;
    let eye = identity(cx, m.columns, m.columns, m.dtype);
    let vectors = Entries::from(with_batch(cx, eye, batch_of(&shape, 2)?, 2)?).alike(a);
    let n = cx.squeeze(m.width, &[0]);
    let worst = cx.float(0.0, m.dtype);
    let state = [a, vectors, worst.into()];
    let [a, vectors, _] =
        repeat_while(cx, m.rounds(cx, m.width * SWEEPS)?, state, |round, [a, vectors, worst]| {
            let (partner, own, first) = partners(cx, &m, round);
            let beside = a.gather(cx, partner, -1);
            let squares = sum(cx, a.squares(), -2)?;
            let others = cx.gather(squares, partner, -1);
            let (shared, unit) = rotated(cx, (a.conjugate() * beside).sum(cx, -2)?);
            let scale = cx.sqrt(squares) * cx.sqrt(others);
            let angle = cx.abs(shared) / cx.select(cx.equal(scale, 0.0), 1.0, scale);
            let idle = own | cx.less_equal(angle, epsilon(m.dtype));
            let shared = cx.select(idle, 0.0, shared);
            let (cosine, sine) = rotation(cx, squares, others, shared, first);
            let (cosine, sine) = (as_row(cx, cosine), unrotated(sine, unit).row(cx));
            let rotated = |x: Entries, beside: Entries| x.map(|part| part * cosine) - beside * sine;
            // A sweep in which no pair was far from orthogonal is the last.
            let left = cx.select(idle, 0.0, angle);
            let left = cx.reduce(op::ReduceMax, left, &[], false);
            let place = cx.modulo(round, n, false);
            let worst = cx.max(cx.select(cx.equal(place, 0i64), 0.0, worst.re), left);
            let unfinished = !cx.equal(place, n - 1i64) | cx.greater(worst, 8.0 * epsilon(m.dtype));
            let vectors = rotated(vectors, vectors.gather(cx, partner, -1));
            Ok((Some(unfinished), [rotated(a, beside), vectors, worst.into()]))
        })?;
    Ok((a, vectors))
}

/// The factors of a singular value decomposition.
pub(super) struct Singular {
    pub(super) u: Entries,
    pub(super) values: Value,
    pub(super) v: Entries,
}

/// `A = U diag(values) V'`, the largest value first; `full` has all columns of `U` and `V`.
pub(super) fn singular(cx: &Lower, a: Entries, full: bool) -> Res<Singular> {
    let m = Matrix::new(cx, a.re)?;
    let shape = cx.shape(a.re)?;
    // The fewer columns, the shorter a sweep.
    let wide = match shape.as_slice() {
        [.., Dim::Const(rows), Dim::Const(columns)] => rows < columns,
        _ => false,
    };
    let (a, scale) = a.normalized(cx)?;
    let (columns, v) = orthogonalize(cx, if wide { a.adjoint(cx)? } else { a })?;
    let (count, smaller) = (if wide { m.height } else { m.width }, m.smaller(cx));
    let lengths = cx.sqrt(sum(cx, columns.squares(), -2)?);
    let [values, order] = sorted(cx, lengths, count, true)?;
    let first = |x: Value| cx.slice_dynamic(x, -1, cx.ints(&[0]), smaller, 1);
    let (columns, v) = (columns.permuted(cx, order, -1)?, v.permuted(cx, order, -1)?);
    // Orthogonal columns have a diagonal `R`, which is real: `Q` is `U` but for signs, also where a singular value is
    // zero.
    let factors = factor(cx, columns, full)?;
    let r = Matrix::new(cx, factors.r.re)?;
    let on_diagonal = cx.equal(as_column(cx, r.rows), r.columns);
    let diagonal = sum(cx, cx.select(on_diagonal, r.value, 0.0), -1)?;
    let signs = cx.select(cx.less(diagonal, 0.0), -1.0, cx.float(1.0, m.dtype));
    let u = factors.q.map(|part| part * as_row(cx, signs));
    let (values, v) = (scaled(cx, first(values), scale)?, if full { v } else { v.map(first) });
    Ok(if wide { Singular { u: v, values, v: u } } else { Singular { u, values, v } })
}
