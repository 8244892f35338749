//! Traces and powers of square matrices.

use onnxport_sdk::prelude::*;

use super::elimination::inverse;
use crate::matmul::matmul;

/// The `n`-th power of every matrix, by repeated squaring; of its inverse where `n` is negative.
#[lowering("aten.matrix_power.default", "aten.linalg_matrix_power.default")]
fn matrix_power(cx: &Lower, x: Value, n: i64) -> Res<Value> {
    let (dtype, rank) = (cx.result(0)?.dtype, cx.rank(x)?);
    let (x, n) =
        if n < 0 { (inverse(cx, x)?, n.checked_neg().ok_or("the power is out of range")?) } else { (x, n) };
    if n == 0 {
        let size = cx.dim(x, rank - 1).as_const().ok_or("the power 0 needs a constant extent")?;
        let eye = |i: i64| f64::from(u8::from(i / size == i % size));
        let elements: Vec<f64> = (0..size * size).map(eye).collect();
        let shape = cx.result(0)?.shape;
        return crate::view::expand_to(cx, cx.numbers_shaped(&elements, &[size as u64; 2], dtype), &shape);
    }
    let (mut rest, mut square, mut product) = (n, x, None);
    loop {
        if rest % 2 == 1 {
            product = Some(product.map_or(square, |p| matmul(cx, p, square, dtype)));
        }
        rest /= 2;
        if rest == 0 {
            return product.ok_or_else(|| "the power of a matrix is empty".into());
        }
        square = matmul(cx, square, square, dtype);
    }
}
