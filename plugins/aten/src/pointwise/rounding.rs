//! Rounding and fractions; integers stay as they are.

use onnxport_sdk::prelude::*;

use crate::support::{node, trunc as towards_zero};

fn round_by(cx: &Lower, op: impl Operator<'static>, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(if dtype.is_float() { node(cx, op, &[x], dtype) } else { x })
}

/// The largest integer that is not above.
#[lowering("aten.floor.default", "prims.floor.default")]
fn floor(cx: &Lower, x: Value) -> Res<Value> {
    round_by(cx, op::Floor, x)
}

/// The smallest integer that is not below.
#[lowering("aten.ceil.default", "prims.ceil.default")]
fn ceil(cx: &Lower, x: Value) -> Res<Value> {
    round_by(cx, op::Ceil, x)
}

/// The nearest integer, halves to even.
#[lowering("aten.round.default", "prims.round.default")]
fn round(cx: &Lower, x: Value) -> Res<Value> {
    round_by(cx, op::Round, x)
}

/// The nearest multiple of `10 ^ -decimals`, halves to even.
#[lowering("aten.round.decimals", "aten.special_round.default")]
fn round_decimals(cx: &Lower, x: Value, decimals: i64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if decimals == 0 || !dtype.is_float() {
        return round_by(cx, op::Round, x);
    }
    let ten = cx.float(10f64.powf(decimals.unsigned_abs() as f64), dtype);
    // PyTorch divides by 10^n for negative decimals rather than multiplying by its inverse.
    let scaled = if decimals > 0 { x * ten } else { x / ten };
    let rounded = node(cx, op::Round, &[scaled], dtype);
    Ok(if decimals > 0 { rounded / ten } else { rounded * ten })
}

/// The integer part.
#[lowering("aten.trunc.default", "prims.trunc.default", "aten.fix.default")]
fn trunc(cx: &Lower, x: Value) -> Res<Value> {
    Ok(if cx.result(0)?.dtype.is_float() { towards_zero(cx, x) } else { x })
}

/// The part behind the point, with the sign of the number: `fmod(x, 1)`.
#[lowering("aten.frac.default")]
fn frac(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.modulo(x, cx.float(1.0, dtype), true))
}
