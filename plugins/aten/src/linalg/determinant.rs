//! Determinants: `Det`.

use onnxport_sdk::prelude::*;

/// The determinant of every matrix.
#[lowering("aten.det.default", "aten.linalg_det.default")]
fn det(cx: &Lower, x: Value) -> Res<Value> {
    Ok(determinant(cx, x))
}

/// The same; the factors of its computation are not computed.
#[lowering("aten._linalg_det.default")]
fn det_with_factors(cx: &Lower, x: Value) -> Res<Vec<Option<Value>>> {
    Ok(vec![Some(determinant(cx, x)), None, None])
}

/// The logarithm of the determinant; NaN where that is negative.
#[lowering("aten.logdet.default")]
fn logdet(cx: &Lower, x: Value) -> Res<Value> {
    Ok(cx.log(determinant(cx, x)))
}

/// The sign of the determinant and the logarithm of its size.
#[lowering("aten.slogdet.default", "aten.linalg_slogdet.default")]
fn slogdet(cx: &Lower, x: Value) -> Res<(Value, Value)> {
    let det = determinant(cx, x);
    Ok((cx.sign(det), cx.log(cx.abs(det))))
}

fn determinant(cx: &Lower, x: Value) -> Value {
    cx.op(op::Det).input(x).one()
}
