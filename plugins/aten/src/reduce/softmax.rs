//! Exponentials that are normalised along an axis.

use onnxport_sdk::prelude::*;

use super::reduce;

/// `exp(x) / sum(exp(x))` along `dim`.
#[lowering("aten.softmax.int", "aten._softmax.default", "aten.special_softmax.default")]
fn softmax(cx: &mut Lower, x: Value, dim: Axis) -> Res<Value> {
    along(cx, "Softmax", x, dim)
}

/// `x - log(sum(exp(x)))` along `dim`.
#[lowering("aten.log_softmax.int", "aten._log_softmax.default", "aten.special_log_softmax.default")]
fn log_softmax(cx: &mut Lower, x: Value, dim: Axis) -> Res<Value> {
    along(cx, "LogSoftmax", x, dim)
}

/// `log(sum(exp(x)))` over `dim`.
#[lowering("aten.logsumexp.default", "aten.special_logsumexp.default")]
fn logsumexp(cx: &mut Lower, x: Value, dim: Axes, keepdim: bool) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    reduce(cx, "ReduceLogSumExp", x, &dim.ints(), keepdim)
}

/// The operator has at least one axis, so that a 0-d operand gets one.
fn along(cx: &mut Lower, op: &str, x: Value, dim: Axis) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    if cx.rank(x)? > 0 {
        return Ok(cx.op(op).input(x).int("axis", dim.0 as i64).one());
    }
    let vector = cx.unsqueeze(x, &[0]);
    let vector = cx.op(op).input(vector).int("axis", 0).one();
    Ok(cx.squeeze(vector, &[0]))
}
