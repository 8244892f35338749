//! Determinants: `Det`.

use onnxport_sdk::prelude::*;

/// The determinant of every matrix.
#[lowering("aten.det.default", "aten.linalg_det.default")]
fn det(cx: &mut Lower, x: Value) -> Res<Value> {
    Ok(determinant(cx, x))
}

/// The same; the factors of its computation are not computed.
#[lowering("aten._linalg_det.default")]
fn det_with_factors(cx: &mut Lower, x: Value) -> Res<Vec<Option<Value>>> {
    Ok(vec![Some(determinant(cx, x)), None, None])
}

/// The logarithm of the determinant; NaN where that is negative.
#[lowering("aten.logdet.default")]
fn logdet(cx: &mut Lower, x: Value) -> Res<Value> {
    let det = determinant(cx, x);
    Ok(cx.log(det))
}

/// The sign of the determinant and the logarithm of its size.
#[lowering("aten.slogdet.default", "aten.linalg_slogdet.default")]
fn slogdet(cx: &mut Lower, x: Value) -> Res<(Value, Value)> {
    let det = determinant(cx, x);
    let (sign, size) = (cx.sign(det), cx.abs(det));
    Ok((sign, cx.log(size)))
}

fn determinant(cx: &mut Lower, x: Value) -> Value {
    cx.op("Det").input(x).one()
}
