//! Powers and exponentials of square matrices.

use onnxport_sdk::prelude::*;

use super::elimination::inverse;
use super::jacobi::epsilon;
use super::matrix::{Matrix, batch_of, identity, is_empty, with_batch};
use crate::control::rounds::repeat;
use crate::matmul::matmul;

/// The `n`-th power of every matrix, by repeated squaring; of its inverse where `n` is negative.
#[lowering("aten.matrix_power.default", "aten.linalg_matrix_power.default")]
pub(crate) fn power(cx: &Lower, x: Value, n: i64) -> Res<Value> {
    let m = Matrix::new(cx, x)?;
    let (x, n) =
        if n < 0 { (inverse(cx, x)?, n.checked_neg().ok_or("the power is out of range")?) } else { (x, n) };
    let (mut rest, mut square, mut product) = (n, x, None);
    while rest > 0 {
        if rest % 2 == 1 {
            product = Some(product.map_or(square, |p| matmul(cx, p, square, m.dtype)));
        }
        rest /= 2;
        if rest > 0 {
            square = matmul(cx, square, square, m.dtype);
        }
    }
    product.map_or_else(|| identities(cx, &m), Ok)
}

/// An identity matrix for each matrix.
fn identities(cx: &Lower, m: &Matrix) -> Res<Value> {
    let shape = cx.shape(m.value)?;
    with_batch(cx, identity(cx, m.rows, m.columns, m.dtype), batch_of(&shape, 2)?, 2)
}

/// The exponential of every matrix: the Taylor polynomial of the matrix halved until its norm is at most 1, squared as
/// many times. Source: A. Al-Mohy and N. Higham, SIAM Journal on Matrix Analysis 31 (2009).
#[lowering("aten.linalg_matrix_exp.default", "aten.matrix_exp.default")]
pub(crate) fn exponential(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if is_empty(cx, x)? {
        return Ok(x);
    }
    // Squaring doubles relative errors, and half precision starts with large ones.
    let x = if dtype == DType::F64 { x } else { cx.cast(x, DType::F32) };
    let m = Matrix::new(cx, x)?;
    let norm = cx.reduce(op::ReduceMax, cx.reduce(op::ReduceSum, cx.abs(x), &[-2], true), &[-1], true);
    let halvings =
        cx.max(cx.op(op::Ceil).input(cx.log(norm) / std::f64::consts::LN_2).one(), cx.float(0.0, m.dtype));
    // An infinite norm, or one that is not a number, must not become a number of rounds.
    let halvings = cx.select(cx.less_equal(halvings, MOST_HALVINGS), halvings, 0.0);
    let small = x * cx.pow(2.0, -halvings);
    let identity = identities(cx, &m)?;
    // Horner's scheme: I + A (I + A / 2 (I + A / 3 ...)).
    let degree = terms(m.dtype);
    let [polynomial] = repeat(cx, m.rounds(cx, cx.ints(&[degree]))?, [identity], |k, [inner]| {
        let divisor = cx.cast(-k + degree, m.dtype);
        Ok([identity + cx.matmul(small, inner) / divisor])
    })?;
    let most = cx.reshape(cx.cast(cx.reduce(op::ReduceMax, halvings, &[], true), DType::I64), &[-1]);
    let [result] = repeat(cx, m.rounds(cx, most)?, [polynomial], |k, [power]| {
        let goes_on = cx.less(cx.cast(k, m.dtype), halvings);
        Ok([cx.select(goes_on, cx.matmul(power, power), power)])
    })?;
    Ok(cx.cast(result, dtype))
}

/// No finite norm, in float64, takes more.
const MOST_HALVINGS: f64 = 1024.0;

/// The terms of the series of the exponential after which the next one, of a norm of 1, is below the precision.
fn terms(dtype: DType) -> i64 {
    let (mut term, mut count) = (1.0, 0);
    while term > epsilon(dtype) / 4.0 {
        count += 1;
        term /= count as f64;
    }
    count
}
