//! Orthogonal factors, by Householder reflections `I - tau v v'` as LAPACK's `geqrf` makes them: `v` is zero above its
//! own row and one there, and the signs of the diagonal of `R`, which is real, are its.

use onnxport_sdk::prelude::*;

use super::entries::{Entries, outer, repeat};
use super::matrix::{Matrix, as_column, batch_of, identity, indices, sum, with_batch};

/// A reflection that makes a column zero below a row.
pub(super) struct Reflection {
    /// `v`.
    pub(super) vector: Entries,
    /// `tau`.
    pub(super) factor: Entries,
    /// The entry that remains in the row.
    pub(super) own: Entries,
}

impl Reflection {
    /// The reflection of columns by which only zeros follow the row `first`, of indices `rows`.
    pub(super) fn of(cx: &Lower, rows: Value, column: Entries, first: Value) -> Res<Self> {
        let own = column.gather(cx, first, -1);
        let below = column.kept(cx, cx.greater(rows, first));
        let rest = sum(cx, below.squares(), -1)?;
        let norm = cx.sqrt(own.squares() + rest);
        let diagonal: Entries = cx.select(cx.less(own.re, 0.0), norm, -norm).into();
        // Nothing is reflected where the column is zero below the row, and real in it.
        let done = cx.equal(rest, 0.0);
        let done = own.im.map_or(done, |im| done & cx.equal(im, 0.0));
        let factor = (diagonal - own).over(cx, diagonal).with(cx, done, 0.0);
        let tail = below.over(cx, (own - diagonal).column(cx));
        let tail = tail.with(cx, as_column(cx, done), 0.0);
        let vector = tail.with(cx, cx.equal(rows, first), 1.0);
        Ok(Self { vector, factor, own: own.or(cx, done, diagonal).alike(own) })
    }

    /// `(I - tau v v')' x`.
    pub(super) fn of_rows(&self, cx: &Lower, x: Entries, kept: Option<Value>) -> Entries {
        let shares = self.vector.conjugate().row(cx).matmul(cx, x).map(|part| cx.squeeze(part, &[-2]));
        let shares = kept.map_or(shares, |kept| shares.kept(cx, kept));
        x - outer(cx, self.vector * self.factor.conjugate().column(cx), shares)
    }

    /// `x (I - tau v v')`.
    pub(super) fn of_columns(&self, cx: &Lower, x: Entries) -> Entries {
        let shares = x.matmul(cx, self.vector.column(cx)).map(|part| cx.squeeze(part, &[-1]));
        x - outer(cx, shares * self.factor.column(cx), self.vector.conjugate())
    }
}

/// `R` on and above the diagonal, the reflections below, and their `tau`; of normalized matrices.
fn reflections(cx: &Lower, a: Entries) -> Res<(Entries, Entries)> {
    let m = Matrix::new(cx, a.re)?;
    let smaller = m.smaller(cx);
    let steps = indices(cx, smaller);
    let shape = cx.shape(a.re)?;
    let factors = with_batch(cx, cx.cast(steps, m.dtype), batch_of(&shape, 2)?, 1)?;
    let state = [a, Entries::from(factors).alike(a)];
    let [a, factors] = repeat(cx, m.rounds(cx, smaller)?, state, |k, [a, factors]| {
        let column = a.gather(cx, k, -1);
        let reflection = Reflection::of(cx, m.rows, column, k)?;
        let next = reflection.of_rows(cx, a, Some(cx.greater(m.columns, k)));
        let below = reflection.vector.or(cx, cx.greater(m.rows, k), column);
        let stored = reflection.own.column(cx).or(cx, cx.equal(m.rows, k), below);
        Ok([
            stored.column(cx).or(cx, cx.equal(m.columns, k), next),
            reflection.factor.column(cx).or(cx, cx.equal(steps, k), factors),
        ])
    })?;
    Ok((a, factors))
}

/// The product of the reflections below the diagonal of `a` with `x`; with its adjoint unless `forward`.
fn reflect(cx: &Lower, a: Entries, factors: Entries, x: Entries, forward: bool) -> Res<Entries> {
    let m = Matrix::new(cx, a.re)?;
    let count = cx.extent(factors.re, cx.rank(factors.re)? - 1);
    let last = cx.squeeze(count, &[0]) - 1i64;
    let [x] = repeat(cx, m.rounds(cx, count)?, [x.alike(a)], |k, [x]| {
        // The last reflection is the first to meet `x`.
        let k = if forward { last - k } else { k };
        let tail = a.gather(cx, k, -1).kept(cx, cx.greater(m.rows, k));
        let vector = tail.with(cx, cx.equal(m.rows, k), 1.0);
        let shares = vector.conjugate().row(cx).matmul(cx, x);
        let factor = factors.gather(cx, k, -1);
        let factor = if forward { factor } else { factor.conjugate() };
        Ok([x - (vector * factor.column(cx)).column(cx) * shares])
    })?;
    Ok(x)
}

/// The first `width` columns of the identity matrix, for every matrix of `like`.
fn unit_columns(cx: &Lower, m: &Matrix, width: Value, like: Value) -> Res<Entries> {
    let shape = cx.shape(like)?;
    let eye = identity(cx, m.rows, indices(cx, width), m.dtype);
    Ok(with_batch(cx, eye, batch_of(&shape, 2)?, 2)?.into())
}

/// `Q` with all its columns, or with as many as there are pivots.
pub(super) struct Factored {
    pub(super) q: Entries,
    pub(super) r: Entries,
}

/// `A = Q R`, of normalized matrices.
pub(super) fn factor(cx: &Lower, a: Entries, complete: bool) -> Res<Factored> {
    let m = Matrix::new(cx, a.re)?;
    let (both, factors) = reflections(cx, a)?;
    let kept = if complete { m.height } else { m.smaller(cx) };
    let q = reflect(cx, both, factors, unit_columns(cx, &m, kept, a.re)?, true)?;
    let upper = both.kept(cx, cx.less_equal(as_column(cx, m.rows), m.columns));
    let r =
        if complete { upper } else { upper.map(|part| cx.slice_dynamic(part, -2, cx.ints(&[0]), kept, 1)) };
    Ok(Factored { q, r })
}

/// `Q` and `R`; `mode` is `reduced`, `complete`, or `r` for an empty `Q`.
#[lowering("aten.linalg_qr.default", complex)]
fn qr(cx: &Lower, mode: Str) -> Res<(Value, Value)> {
    let (a, scale) = Entries::argument(cx, "a")?.normalized(cx)?;
    let Factored { q, r } = factor(cx, a, mode.0 == "complete")?;
    let r = r.map(|part| part * scale).value(cx);
    if mode.0 != "r" {
        return Ok((q.value(cx), r));
    }
    let empty = cx.result(0)?;
    let shape = cx.dims_value(&empty.real_shape());
    Ok((cx.constant_of_shape(shape, cx.filled(&Scalar::Int(0), empty.dtype.real(), &[1])), r))
}

/// `R`, the reflections below it, and their `tau`.
#[lowering("aten.geqrf.default", complex)]
fn geqrf(cx: &Lower) -> Res<(Value, Value)> {
    let (a, scale) = Entries::argument(cx, "a")?.normalized(cx)?;
    let m = Matrix::new(cx, a.re)?;
    let (both, factors) = reflections(cx, a)?;
    let upper = cx.less_equal(as_column(cx, m.rows), m.columns);
    Ok((both.map(|part| cx.select(upper, part * scale, part)).value(cx), factors.value(cx)))
}

/// The first columns of the product of reflections.
#[lowering("aten.linalg_householder_product.default", "aten.orgqr.default", complex)]
fn householder_product(cx: &Lower) -> Res<Value> {
    let (a, factors) = (Entries::argument(cx, "a")?, Entries::argument(cx, "b")?);
    let m = Matrix::new(cx, a.re)?;
    Ok(reflect(cx, a, factors, unit_columns(cx, &m, m.width, a.re)?, true)?.value(cx))
}

/// `Q C`, `Q' C`, `C Q` or `C Q'` with the product `Q` of reflections.
#[lowering("aten.ormqr.default", complex)]
fn ormqr(cx: &Lower, left: bool, transpose: bool) -> Res<Value> {
    let [a, factors, c] = ["a", "input2", "input3"].map(|name| Entries::argument(cx, name));
    let (a, factors, c) = (a?, factors?, c?);
    if left {
        return Ok(reflect(cx, a, factors, c, !transpose)?.value(cx));
    }
    // C Q is (Q' C')'.
    Ok(reflect(cx, a, factors, c.adjoint(cx)?, transpose)?.adjoint(cx)?.value(cx))
}
