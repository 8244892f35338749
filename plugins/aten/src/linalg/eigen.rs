//! Eigenvalues and eigenvectors of matrices without symmetry, by the shifted QR algorithm on complex Hessenberg matrices.
//!
//! Every sweep rotates the rows and columns of the block that is not yet triangular, in every matrix of a batch at once.
//! Sources: G. Golub and C. Van Loan, "Matrix Computations", 7.4 to 7.6; LAPACK's `zlahqr` for shifts and deflation,
//! `ztrevc` for vectors of eigenvalues that are equal.

use onnxport_sdk::prelude::*;

use super::entries::{Entries, repeat, repeat_while};
use super::householder::Reflection;
use super::jacobi::epsilon;
use super::matrix::{Matrix, as_column, as_row, batch_of, identity, is_empty, sum, with_batch};
use crate::complex::Complex;
use crate::support::full;

/// Sweeps for each row; LAPACK gives up after as many.
const SWEEPS: i64 = 30;

/// The eigenvalues, in no order, and the eigenvectors, of length 1 with a largest component that is real.
#[lowering("aten.linalg_eig.default", complex)]
fn eig(cx: &Lower) -> Res<Vec<Value>> {
    let a = Entries::argument(cx, "a")?;
    if is_empty(cx, a.re)? {
        return [0, 1].into_iter().map(|i| nothing(cx, i)).collect();
    }
    let schur = Schur::new(cx, a)?;
    Ok(vec![schur.values(cx)?.value(cx), schur.vectors(cx)?.value(cx)])
}

/// The eigenvalues alone.
#[lowering("aten.linalg_eigvals.default", "aten._linalg_eigvals.default", complex)]
fn eigvals(cx: &Lower) -> Res<Value> {
    let a = Entries::argument(cx, "a")?;
    if is_empty(cx, a.re)? {
        return nothing(cx, 0);
    }
    Ok(Schur::new(cx, a)?.values(cx)?.value(cx))
}

/// A result without elements.
fn nothing(cx: &Lower, index: usize) -> Res<Value> {
    let result = cx.result(index)?;
    Ok(full(cx, &result.real_shape(), &Scalar::Int(0), result.dtype.real()))
}

/// `A = scale Q T Q'` with an upper triangular `T`.
struct Schur {
    m: Matrix,
    t: Entries,
    q: Entries,
    scale: Value,
}

impl Schur {
    fn new(cx: &Lower, a: Entries) -> Res<Self> {
        let m = Matrix::new(cx, a.re)?;
        let (a, scale) = a.normalized(cx)?;
        let (hessenberg, q) = reduced(cx, &m, a.complex().into())?;
        let (t, q) = triangular(cx, &m, hessenberg, q)?;
        Ok(Self { m, t, q, scale })
    }

    /// The diagonal of `T`.
    fn diagonal(&self, cx: &Lower) -> Res<Entries> {
        diagonal(cx, &self.m, self.t)
    }

    fn values(&self, cx: &Lower) -> Res<Entries> {
        let scale = cx.squeeze(self.scale, &[-1]);
        Ok(self.diagonal(cx)?.map(|part| part * scale))
    }

    /// Row by row from the last: `T v = value v` of every eigenvalue at once.
    fn vectors(&self, cx: &Lower) -> Res<Entries> {
        let (m, t) = (&self.m, self.t);
        let (epsilon, values) = (epsilon(m.dtype), self.diagonal(cx)?);
        // Equal eigenvalues count as if they were this far apart.
        let least = (values.sizes(cx) + epsilon) * epsilon;
        let last = cx.squeeze(m.height, &[0]) - 1i64;
        let zeros: Entries = m.zeros(cx).into();
        let [vectors] = repeat(cx, m.rounds(cx, m.height)?, [zeros.alike(t)], |k, [vectors]| {
            let i = last - k;
            let row = t.gather(cx, i, -2).kept(cx, cx.greater(m.columns, i));
            let known = row.row(cx).matmul(cx, vectors).map(|part| cx.squeeze(part, &[-2]));
            let distance = values - t.gather(cx, i, -2).gather(cx, i, -1).column(cx);
            let near = cx.less(distance.sizes(cx), least);
            let distance = Entries { re: least, im: None }.or(cx, near, distance);
            let entry = known.over(cx, distance).kept(cx, cx.greater(m.columns, i));
            let entry = entry.with(cx, cx.equal(m.columns, i), 1.0);
            let vectors = entry.row(cx).or(cx, as_column(cx, cx.equal(m.rows, i)), vectors);
            // Long chains of equal eigenvalues would overflow.
            let large = as_row(cx, cx.max(entry.sizes(cx), cx.float(1.0, m.dtype)));
            Ok([vectors.map(|part| part / large)])
        })?;
        let vectors = self.q.matmul(cx, vectors);
        let squares = vectors.squares();
        let largest = cx.op(op::ArgMax).input(squares).axis(-2).keepdims(1).one();
        let at = |part| cx.op(op::GatherElements).input(part).input(largest).axis(-2).one();
        let largest = vectors.map(at);
        let length = as_row(cx, cx.sqrt(sum(cx, squares, -2)?)) * largest.sizes(cx);
        let turn = largest.conjugate().map(|part| part / length);
        Ok(vectors * turn)
    }
}

/// The diagonals of matrices.
fn diagonal(cx: &Lower, m: &Matrix, x: Entries) -> Res<Entries> {
    x.kept(cx, cx.equal(as_column(cx, m.rows), m.columns)).sum(cx, -1)
}

/// `H` and `Q` of `A = Q H Q'`, with zeros below the first subdiagonal of `H`.
fn reduced(cx: &Lower, m: &Matrix, a: Entries) -> Res<(Entries, Entries)> {
    let shape = cx.shape(a.re)?;
    let eye = with_batch(cx, identity(cx, m.rows, m.columns, m.dtype), batch_of(&shape, 2)?, 2)?;
    let count = cx.max(m.height - 2i64, cx.ints(&[0]));
    let state = [a, Entries::from(eye).alike(a)];
    let [h, q] = repeat(cx, m.rounds(cx, count)?, state, |k, [a, q]| {
        let reflection = Reflection::of(cx, m.rows, a.gather(cx, k, -1), k + 1i64)?;
        let a = reflection.of_columns(cx, reflection.of_rows(cx, a, None));
        Ok([a, reflection.of_columns(cx, q)])
    })?;
    Ok((h, q))
}

/// `T` and `Q` of a Hessenberg matrix and a factor before it.
fn triangular(cx: &Lower, m: &Matrix, h: Entries, q: Entries) -> Res<(Entries, Entries)> {
    let none = m.per_matrix(cx, &Scalar::Int(0), DType::I64)?;
    let count = m.rounds(cx, m.height * SWEEPS)?;
    let state = [h, q, none.into(), none.into()];
    let [h, q, last, _] = repeat_while(cx, count, state, |_, [h, q, end, tries]| {
        let (h, joined) = deflated(cx, m, h)?;
        let place = |condition, value: Value| {
            let places = cx.select(condition, value, 0i64);
            cx.reduce(op::ReduceMax, places, &[-1], false)
        };
        // The last block that is not triangular, from its first to its last row; both are 0 when none is left.
        let last = place(joined, m.rows);
        let first = place(cx.less_equal(m.rows, as_column(cx, last)) & !joined, m.rows);
        let tries = cx.select(cx.equal(last, end.re), tries.re + 1i64, 0i64);
        let shift = shift(cx, m, h, last, tries)?;
        let [h, q] = sweep(cx, m, [h, q], [first, last], shift)?;
        let going = cx.cast(cx.reduce(op::ReduceMax, last, &[], false), DType::Bool);
        Ok((Some(going), [h, q, last.into(), tries.into()]))
    })?;
    let upper = cx.less_equal(as_column(cx, m.rows), m.columns);
    // LAPACK reports a matrix that does not converge as an error.
    let failed = as_column(cx, as_column(cx, cx.greater(last.re, 0i64)));
    Ok((h.kept(cx, upper).with(cx, failed, f64::NAN), q))
}

/// The matrices without the entries that are negligible or only rounding, and the rows that are joined to the one before.
fn deflated(cx: &Lower, m: &Matrix, h: Entries) -> Res<(Entries, Value)> {
    let below = cx.equal(as_column(cx, m.rows), m.columns + 1i64);
    let joints = sum(cx, cx.select(below, h.magnitudes(cx), 0.0), -1)?;
    let sizes = diagonal(cx, m, h)?.magnitudes(cx);
    let before = cx.max(m.rows - 1i64, 0i64);
    let bound = (sizes + cx.gather(sizes, before, -1) + epsilon(m.dtype)) * epsilon(m.dtype);
    let joined = cx.greater(joints, bound);
    let kept = cx.less_equal(as_column(cx, m.rows), m.columns) | (below & as_column(cx, joined));
    Ok((h.kept(cx, kept), joined))
}

/// The eigenvalue of the last two rows of every block that is nearer to its last entry; now and then another number, in
/// case a block does not converge.
fn shift(cx: &Lower, m: &Matrix, h: Entries, last: Value, tries: Value) -> Res<Complex> {
    let before = cx.max(last - 1i64, cx.int(0));
    let column_of = |row: Value| as_column(cx, row);
    let rows = |row: Value| h.kept(cx, as_column(cx, cx.equal(m.rows, column_of(row)))).sum(cx, -2);
    let entry = |row: Entries, column: Value| -> Res<Complex> {
        Ok(row.kept(cx, cx.equal(m.columns, column_of(column))).sum(cx, -1)?.complex())
    };
    let (upper, lower) = (rows(before)?, rows(last)?);
    let (a, b) = (entry(upper, before)?, entry(upper, last)?);
    let (c, d) = (entry(lower, before)?, entry(lower, last)?);
    let half = (a - d).scaled(0.5);
    let root = (half * half + b * c).sqrt(cx)?;
    // The sum must not cancel.
    let opposed = cx.less((half.conjugate() * root).re, 0.0);
    let root = Entries::from(-root).or(cx, opposed, root.into()).complex();
    let sum = half + root;
    let step = Entries::from((b * c).over(cx, sum)).with(cx, Entries::from(sum).are_zero(cx), 0.0);
    let near = d - step.complex();
    let stuck = cx.equal(cx.modulo(tries, 10i64, false), 9i64);
    let other = Complex { re: d.re + c.size(cx) * 0.75, im: d.im };
    Ok(Entries::from(other).or(cx, stuck, near.into()).complex())
}

/// A step of the QR algorithm in the rows `first` to `last` of every matrix.
fn sweep(
    cx: &Lower,
    m: &Matrix,
    state: [Entries; 2],
    [first, last]: [Value; 2],
    shift: Complex,
) -> Res<[Entries; 2]> {
    let count = cx.max(m.height - 1i64, cx.ints(&[0]));
    repeat(cx, count, state, |k, [h, q]| {
        let (next, before) = (k + 1i64, cx.max(k - 1i64, cx.int(0)));
        let (upper, lower) = (h.gather(cx, k, -2), h.gather(cx, next, -2));
        let starts = cx.equal(first, k);
        let x = (upper.gather(cx, k, -1) - shift.into()).or(cx, starts, upper.gather(cx, before, -1));
        let y = lower.gather(cx, k, -1).or(cx, starts, lower.gather(cx, before, -1));
        // `[x' y'; -y x]` over the length makes `y` zero.
        let length = Complex { re: x.sizes(cx), im: y.sizes(cx) }.size(cx);
        let idle = cx.equal(length, 0.0) | cx.less(k, first) | cx.greater_equal(k, last);
        let length = cx.select(idle, 1.0, length);
        let x = x.map(|part| part / length).with(cx, idle, 1.0).column(cx);
        let y = y.map(|part| part / length).with(cx, idle, 0.0).column(cx);
        let rows = (x.conjugate() * upper + y.conjugate() * lower, x * lower - y * upper);
        let (here, below) = (cx.equal(m.rows, k), cx.equal(m.rows, next));
        let put = |of: Entries, at: Value| move |x: Entries| of.or(cx, at, x);
        let h = put(rows.0.row(cx), as_column(cx, here))(put(rows.1.row(cx), as_column(cx, below))(h));
        let rotated = |matrix: Entries| {
            let (left, right) = (matrix.gather(cx, k, -1), matrix.gather(cx, next, -1));
            let columns = (x * left + y * right, x.conjugate() * right - y.conjugate() * left);
            put(columns.0.column(cx), here)(put(columns.1.column(cx), below)(matrix))
        };
        Ok([rotated(h), rotated(q)])
    })
}
