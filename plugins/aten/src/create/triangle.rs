//! The identity matrix, triangles of matrices and their indices.

use onnxport_sdk::prelude::*;

use crate::support::small;

/// Ones on the diagonal, zeros elsewhere.
#[lowering("aten.eye.default", "aten.eye.m")]
fn eye(cx: &Lower) -> Res<Value> {
    let result = cx.result(0)?;
    let dtype = result.dtype;
    if let Some([rows, columns]) = small(&result.shape, dtype).as_deref() {
        let ones: Vec<f64> =
            (0..*rows).flat_map(|i| (0..*columns).map(move |j| f64::from(u8::from(i == j)))).collect();
        return cx.reshape_to_result(cx.numbers(&ones, dtype), 0);
    }
    let (shape, zero) = (cx.dims_value(&result.shape), cx.filled(&Scalar::Int(0), dtype, &[1]));
    Ok(cx.op(op::EyeLike).input(cx.constant_of_shape(shape, zero)).one())
}

fn triangle(cx: &Lower, x: Value, diagonal: SymInt, upper: bool) -> Value {
    let k = (diagonal != SymInt::Const(0)).then(|| cx.sym_int_scalar(&diagonal));
    cx.op(op::Trilu).input(x).maybe(k).upper(upper).one()
}

/// The elements on and below `diagonal`, zeros elsewhere.
#[lowering("aten.tril.default", parts)]
fn tril(cx: &Lower, x: Value, diagonal: SymInt) -> Res<Value> {
    Ok(triangle(cx, x, diagonal, false))
}

/// The elements on and above `diagonal`, zeros elsewhere.
#[lowering("aten.triu.default", parts)]
fn triu(cx: &Lower, x: Value, diagonal: SymInt) -> Res<Value> {
    Ok(triangle(cx, x, diagonal, true))
}

/// The rows and columns of the elements for which `keep` holds.
fn indices(cx: &Lower, row: i64, col: i64, keep: impl Fn(i64, i64) -> bool) -> Res<Value> {
    let result = cx.result(0)?;
    let cells = || (0..row).flat_map(|i| (0..col).map(move |j| (i, j))).filter(|(i, j)| keep(*i, *j));
    let numbers: Vec<f64> = cells().map(|c| c.0 as f64).chain(cells().map(|c| c.1 as f64)).collect();
    cx.reshape_to_result(cx.numbers(&numbers, result.dtype), 0)
}

/// The rows and columns of the elements on and below the diagonal `offset`, in row order.
#[lowering("aten.tril_indices.default")]
fn tril_indices(cx: &Lower, row: i64, col: i64, offset: i64) -> Res<Value> {
    indices(cx, row, col, |i, j| j - i <= offset)
}

/// The rows and columns of the elements on and above the diagonal `offset`, in row order.
#[lowering("aten.triu_indices.default")]
fn triu_indices(cx: &Lower, row: i64, col: i64, offset: i64) -> Res<Value> {
    indices(cx, row, col, |i, j| j - i >= offset)
}
