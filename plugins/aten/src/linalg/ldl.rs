//! `A = L D L'` of symmetric and Hermitian matrices that may be indefinite, with the pivots of Bunch and Kaufman.
//!
//! Factors and pivots are those of LAPACK's `sytrf` and `hetrf` of the lower triangle: `D` has blocks of one or two rows;
//! the pivot of one row is the row that it was exchanged with, counted from 1, and both of two rows are the negative of
//! the one that the second was exchanged with.

use onnxport_sdk::prelude::*;

use super::entries::{Entries, outer, repeat};
use super::jacobi::hermitian;
use super::matrix::{Matrix, as_column, as_row, batch_of, is_empty, permuted, with_batch};

/// Bounds the growth of entries: `(1 + sqrt(17)) / 8`.
const GROWTH: f64 = 0.640_388_203_202_207_6;

/// The factors in one matrix, the pivots, and 0 unless a pivot is zero.
#[lowering("aten.linalg_ldl_factor_ex.default", "aten.linalg_ldl_factor.default", complex)]
fn ldl_factor(cx: &Lower, hermitian: bool) -> Res<(Value, Value, Value)> {
    let a = Entries::argument(cx, "a")?;
    let m = Matrix::new(cx, a.re)?;
    let form = Form { m, hermitian: hermitian && a.im.is_some() };
    let none = m.per_matrix(cx, &Scalar::Int(0), DType::I64)?;
    let shape = cx.shape(a.re)?;
    let pivots = with_batch(cx, m.rows, batch_of(&shape, 2)?, 1)?;
    let state = [form.whole(cx, a)?, pivots.into(), none.into(), none.into()];
    let [a, pivots, _, info] = repeat(cx, m.rounds(cx, m.height)?, state, |_, [a, pivots, k, info]| {
        form.step(cx, a, pivots.re, k.re, info.re)
    })?;
    let lower = a.kept(cx, cx.greater_equal(as_column(cx, m.rows), m.columns));
    Ok((lower.value(cx), cx.cast(pivots.re, DType::I32), cx.cast(info.re, DType::I32)))
}

/// The matrices, and whether their adjoint is their mirror image.
struct Form {
    m: Matrix,
    hermitian: bool,
}

impl Form {
    /// Both triangles from the lower one.
    fn whole(&self, cx: &Lower, a: Entries) -> Res<Entries> {
        if self.hermitian || a.im.is_none() {
            return hermitian(cx, &self.m, a, true);
        }
        let below = cx.greater_equal(as_column(cx, self.m.rows), self.m.columns);
        Ok(a.or(cx, below, a.try_map(|part| crate::matmul::swap_last(cx, part))?))
    }

    /// `x` as it stands in a row.
    fn mirrored(&self, x: Entries) -> Entries {
        if self.hermitian { x.conjugate() } else { x }
    }

    /// Factors one or two columns from column `k` on, which every matrix has its own of.
    fn step(&self, cx: &Lower, a: Entries, pivots: Value, k: Value, info: Value) -> Res<[Entries; 4]> {
        let m = &self.m;
        let at = |row: Value| cx.equal(m.rows, as_column(cx, row));
        let column = |a: Entries, k: Value| a.kept(cx, as_row(cx, at(k))).sum(cx, -1);
        let entry = |column: Entries, row: Value| column.kept(cx, at(row)).sum(cx, -1);
        let largest = |sizes: Value, condition: Value| {
            let sizes = cx.select(condition, sizes, 0.0);
            cx.reduce(op::ReduceMax, sizes, &[-1], false)
        };
        let (here, from) = (as_column(cx, k), |row: Value| cx.greater_equal(m.rows, as_column(cx, row)));
        let alive = cx.less(k, cx.squeeze(m.height, &[0]));

        // The pivot: one entry of the diagonal, or two.
        let first = column(a, k)?;
        let own = entry(first, k)?.magnitudes(cx);
        let below = cx.greater(m.rows, here);
        let worst = largest(first.magnitudes(cx), below);
        let candidates = cx.select(below, first.magnitudes(cx), -1.0);
        let rival = cx.op(op::ArgMax).input(candidates).axis(-1).keepdims(false).one();
        let second = column(a, rival)?;
        let beside = largest(second.magnitudes(cx), from(k) & !at(rival));
        let singular = cx.equal(own + worst, 0.0) | cx.is_nan(own) | !alive;
        let stays = singular
            | cx.greater_equal(own, worst * GROWTH)
            | cx.greater_equal(own, worst * GROWTH * (worst / beside));
        let single = stays | cx.greater_equal(entry(second, rival)?.magnitudes(cx), beside * GROWTH);
        let with = cx.select(stays, k, rival);
        let end = cx.select(single, k, k + 1i64);

        // The rows and columns from `k` on are exchanged.
        let (a_row, b_row) = (as_column(cx, end), as_column(cx, with));
        let order = cx.select(at(end), b_row, cx.select(at(with), a_row, m.rows));
        let trailing = as_column(cx, from(k)) & as_row(cx, from(k));
        let exchanged = a.try_map(|part| permuted(cx, permuted(cx, part, order, -2)?, order, -1))?;
        let a = exchanged.or(cx, trailing, a);

        // The columns of L, and what they leave of the rest.
        let (left, right) = (column(a, k)?, column(a, k + 1i64)?);
        let (upper, corner) = (entry(left, k)?, entry(right, k + 1i64)?);
        let joint = entry(left, k + 1i64)?;
        let after = cx.greater(m.rows, as_column(cx, end));
        let (left, right) = (left.kept(cx, after), right.kept(cx, after & !as_column(cx, single)));
        let alone = left.over(cx, upper.column(cx));
        let (p, q) = (corner.over(cx, joint), upper.over(cx, self.mirrored(joint)));
        let one: Entries = cx.float(1.0, m.dtype).into();
        let determinant = p * q - one;
        let of_left = (left * p.column(cx) - right).over(cx, (self.mirrored(joint) * determinant).column(cx));
        let of_right = (right * q.column(cx) - left).over(cx, (joint * determinant).column(cx));
        let idle = as_column(cx, singular);
        let one_row = as_column(cx, single);
        let first = alone.or(cx, one_row, of_left).kept(cx, after & !idle);
        let second = of_right.kept(cx, after & !one_row);
        let a = a - outer(cx, first, self.mirrored(left)) - outer(cx, second, self.mirrored(right));
        let put = |a: Entries, of: Entries, k: Value, condition: Value| {
            of.column(cx).or(cx, as_row(cx, at(k)) & as_column(cx, condition), a)
        };
        let a = put(a, first, k, after & !idle);
        let a = put(a, second, k + 1i64, after & !one_row);
        let number = cx.select(single, with + 1i64, -with - 1i64);
        let set = at(k) | (at(k + 1i64) & !one_row);
        let pivots = cx.select(set, as_column(cx, number), pivots);
        let info = cx.select(singular & alive & cx.equal(info, 0i64), k + 1i64, info);
        Ok([a, pivots.into(), cx.select(single, k + 1i64, k + 2i64).into(), info.into()])
    }
}

/// `X` with `A X = B`, from the factors of `A`.
#[lowering("aten.linalg_ldl_solve.default", complex)]
fn ldl_solve(cx: &Lower, b: Value, hermitian: bool) -> Res<Value> {
    let pivots = b;
    let (factors, b) = (Entries::argument(cx, "a")?, Entries::argument(cx, "B")?);
    let shape = cx.result(0)?.shape;
    let batch = batch_of(&shape, 2)?;
    let factors = factors.try_map(|part| with_batch(cx, part, batch, 2))?;
    let b = b.try_map(|part| with_batch(cx, part, batch, 2))?;
    if is_empty(cx, b.re)? {
        return Ok(b.value(cx));
    }
    let pivots = cx.cast(with_batch(cx, pivots, batch, 1)?, DType::I64);
    let m = Matrix::new(cx, factors.re)?;
    let blocks = Blocks { m, factors, pivots, hermitian: hermitian && factors.im.is_some() };
    Ok(blocks.solve(cx, b)?.value(cx))
}

/// The factors of matrices, column by column.
struct Blocks {
    m: Matrix,
    factors: Entries,
    pivots: Value,
    hermitian: bool,
}

/// A column of `L`, or two with a block of `D` of two rows.
struct Columns {
    /// Whether a block begins here.
    starts: Value,
    /// Whether it has two rows.
    two: Value,
    /// The rows after the block.
    after: Value,
    /// The order of rows that its exchange makes.
    order: Value,
    left: Entries,
    right: Entries,
}

impl Blocks {
    fn columns(&self, cx: &Lower, k: Value, second: Value) -> Columns {
        let (m, next) = (&self.m, cx.min(k + 1i64, cx.squeeze(self.m.height, &[0]) - 1i64));
        let pivot = cx.gather(self.pivots, k, -1);
        let starts = cx.equal(second, 0i64);
        let two = starts & cx.less(pivot, 0i64);
        let end = cx.select(two, next, k);
        let with = cx.select(starts, cx.abs(pivot) - 1i64, end);
        let (end, with) = (as_column(cx, end), as_column(cx, with));
        let order = cx.select(cx.equal(m.rows, end), with, cx.select(cx.equal(m.rows, with), end, m.rows));
        let after = cx.greater(m.rows, end);
        let of = |k: Value, condition: Value| {
            self.factors.gather(cx, k, -1).kept(cx, after & as_column(cx, condition))
        };
        Columns { starts, two, after, order, left: of(k, starts), right: of(next, two) }
    }

    fn solve(&self, cx: &Lower, b: Entries) -> Res<Entries> {
        let m = &self.m;
        let n = cx.squeeze(m.height, &[0]);
        let none = m.per_matrix(cx, &Scalar::Int(0), DType::I64)?;
        let seconds = self.pivots * cx.int(0);
        let count = m.rounds(cx, m.height)?;
        let last = n - 1i64;
        let at = |k: Value| as_column(cx, cx.equal(m.rows, k));
        let mirrored = |x: Entries| if self.hermitian { x.conjugate() } else { x };

        // L D, from the first block to the last.
        let state = [b.alike(self.factors), none.into(), seconds.into()];
        let [x, _, seconds] = repeat(cx, count, state, |k, [x, second, seconds]| {
            let columns = self.columns(cx, k, second.re);
            let next = cx.min(k + 1i64, last);
            let x = x.permuted(cx, columns.order, -2)?;
            let (own, beside) = (x.gather(cx, k, -2), x.gather(cx, next, -2));
            let x = x - outer(cx, columns.left, own) - outer(cx, columns.right, beside);
            let column = self.factors.gather(cx, k, -1);
            let upper = column.gather(cx, k, -1).column(cx);
            let joint = column.gather(cx, next, -1).column(cx);
            let corner = self.factors.gather(cx, next, -1).gather(cx, next, -1).column(cx);
            let other = mirrored(joint);
            let (p, q) = (corner.over(cx, other), upper.over(cx, joint));
            let one: Entries = cx.float(1.0, m.dtype).into();
            let determinant = p * q - one;
            let two = as_column(cx, columns.two);
            let alone = own.over(cx, upper);
            let first = (own * p - beside).over(cx, joint * determinant);
            let pair = (beside * q - own).over(cx, other * determinant);
            let starts = as_column(cx, as_column(cx, columns.starts));
            let x = first.or(cx, two, alone).row(cx).or(cx, at(k) & starts, x);
            let x = pair.row(cx).or(cx, at(next) & as_column(cx, two), x);
            let following = cx.cast(columns.two, DType::I64);
            let seconds = cx.select(cx.equal(m.rows, k), as_column(cx, second.re), seconds.re);
            Ok([x, following.into(), seconds.into()])
        })?;

        // The mirror image of L, back to the first block.
        let [x] = repeat(cx, count, [x], |k, [x]| {
            let k = last - k;
            let columns = self.columns(cx, k, cx.gather(seconds.re, k, -1));
            let next = cx.min(k + 1i64, last);
            let rest = x.kept(cx, as_column(cx, columns.after));
            let x = x - mirrored(columns.left).row(cx).matmul(cx, rest).kept(cx, at(k));
            let x = x - mirrored(columns.right).row(cx).matmul(cx, rest).kept(cx, at(next));
            x.permuted(cx, columns.order, -2).map(|x| [x])
        })?;
        Ok(x)
    }
}
