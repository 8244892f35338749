//! Determinants: `Det`, or the product of the pivots.

use onnxport_sdk::prelude::*;

use super::elimination::factorize;
use super::entries::{Entries, repeat};
use super::matrix::{Matrix, as_column, indices, sum};
use crate::reduce::reduce;

/// The determinant of every matrix. Of float64 ONNX Runtime would compute it in float32.
#[lowering("aten.det.default", "aten.linalg_det.default")]
fn det(cx: &Lower, x: Value) -> Res<Value> {
    if cx.dtype(x)? != DType::F64 {
        return Ok(cx.op(op::Det).input(x).one());
    }
    Ok(Pivots::new(cx, x.into())?.product(cx)?.re)
}

/// The same; the factors of its computation are not computed.
#[lowering("aten._linalg_det.default")]
fn det_with_factors(cx: &Lower, x: Value) -> Res<Vec<Option<Value>>> {
    Ok(vec![Some(det(cx, x)?), None, None])
}

/// The determinant of every complex matrix, and the factors `L` and `U` in one matrix with the exchanges of rows.
#[lowering("aten.det.default", "aten.linalg_det.default", "aten._linalg_det.default", complex)]
fn complex_det(cx: &Lower) -> Res<Vec<Value>> {
    let pivots = Pivots::new(cx, Entries::argument(cx, "a")?)?;
    Ok(vec![pivots.product(cx)?.value(cx), pivots.both.value(cx), pivots.exchanges])
}

/// The logarithm of the determinant; of a negative real one it is NaN.
#[lowering("aten.logdet.default", complex)]
fn logdet(cx: &Lower) -> Res<Value> {
    let (sign, log) = Pivots::new(cx, Entries::argument(cx, "a")?)?.sign_and_log(cx)?;
    Ok(match sign.im {
        None => cx.select(cx.less(sign.re, 0.0), f64::NAN, log),
        Some(_) => cx.complex(log, sign.complex().angle(cx)?),
    })
}

/// The sign of the determinant and the logarithm of its size.
#[lowering("aten.slogdet.default", "aten.linalg_slogdet.default", complex)]
fn slogdet(cx: &Lower) -> Res<(Value, Value)> {
    let (sign, log) = Pivots::new(cx, Entries::argument(cx, "a")?)?.sign_and_log(cx)?;
    Ok((sign.value(cx), log))
}

/// The same. Of real matrices PyTorch returns the factors of some as they lie in memory, which are not computed.
#[lowering("aten._linalg_slogdet.default", complex)]
fn slogdet_with_factors(cx: &Lower) -> Res<Vec<Option<Value>>> {
    let pivots = Pivots::new(cx, Entries::argument(cx, "a")?)?;
    let (sign, log) = pivots.sign_and_log(cx)?;
    let factors = sign.im.map(|_| [pivots.both.value(cx), pivots.exchanges]);
    let [both, exchanges] = factors.map_or([None; 2], |factors| factors.map(Some));
    Ok(vec![Some(sign.value(cx)), Some(log), both, exchanges])
}

/// The pivots of an elimination. Their product does not overflow before its logarithm is taken.
struct Pivots {
    matrix: Matrix,
    both: Entries,
    exchanges: Value,
    diagonal: Entries,
    /// -1 for an odd number of exchanges, 1 for an even one.
    parity: Value,
}

impl Pivots {
    fn new(cx: &Lower, a: Entries) -> Res<Self> {
        let matrix = Matrix::new(cx, a.re)?;
        let factors = factorize(cx, a)?;
        let on_diagonal = cx.equal(as_column(cx, matrix.rows), matrix.columns);
        let diagonal = factors.both.kept(cx, on_diagonal).sum(cx, -1)?;
        let steps = cx.cast(indices(cx, matrix.width) + 1i64, DType::I32);
        let minus = cx.float(-1.0, matrix.dtype);
        let signs = cx.select(cx.equal(factors.pivots, steps), 1.0, minus);
        let parity = reduce(cx, op::ReduceProd, signs, &[-1], false)?;
        Ok(Self { matrix, both: factors.both, exchanges: factors.pivots, diagonal, parity })
    }

    fn product(&self, cx: &Lower) -> Res<Entries> {
        Ok(product(cx, &self.matrix, self.diagonal)?.map(|part| part * self.parity))
    }

    fn sign_and_log(&self, cx: &Lower) -> Res<(Entries, Value)> {
        let sizes = self.diagonal.sizes(cx);
        let divisor = cx.select(cx.equal(sizes, 0.0), 1.0, sizes);
        let units = self.diagonal.map(|part| part / divisor);
        let sign = product(cx, &self.matrix, units)?.map(|part| part * self.parity);
        Ok((sign, sum(cx, cx.log(sizes), -1)?))
    }
}

/// The products of vectors.
fn product(cx: &Lower, m: &Matrix, x: Entries) -> Res<Entries> {
    if x.im.is_none() {
        return Ok(reduce(cx, op::ReduceProd, x.re, &[-1], false)?.into());
    }
    let one = m.per_matrix(cx, &Scalar::Int(1), m.dtype)?;
    let state = [Entries::from(one).alike(x)];
    let [product] =
        repeat(cx, m.rounds(cx, m.height)?, state, |k, [product]| Ok([product * x.gather(cx, k, -1)]))?;
    Ok(product)
}
