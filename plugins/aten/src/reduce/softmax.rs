//! Exponentials that are normalised along an axis.

use onnxport_sdk::prelude::*;

use super::extremes::unless_nan;
use super::reduce;

/// `exp(x) / sum(exp(x))` along `dim`.
#[lowering("aten.softmax.int", "aten._softmax.default", "aten.special_softmax.default")]
fn softmax(cx: &Lower, x: Value, dim: Axis) -> Res<Value> {
    along(cx, op::Softmax, x, dim)
}

/// `x - log(sum(exp(x)))` along `dim`.
#[lowering("aten.log_softmax.int", "aten._log_softmax.default", "aten.special_log_softmax.default")]
fn log_softmax(cx: &Lower, x: Value, dim: Axis) -> Res<Value> {
    along(cx, op::LogSoftmax, x, dim)
}

/// `log(sum(exp(x)))` over `dim`.
#[lowering("aten.logsumexp.default", "aten.special_logsumexp.default")]
fn logsumexp(cx: &Lower, x: Value, dim: Axes, keepdim: bool) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (x, axes) = (cx.cast(x, dtype), dim.ints());
    // Runtimes subtract the largest element first, and may take another for it than NaN.
    unless_nan(cx, reduce(cx, op::ReduceLogSumExp, x, &axes, keepdim)?, x, &axes, keepdim)
}

/// The operator has at least one axis, so that a 0-d operand gets one.
fn along(cx: &Lower, op: impl Operator<'static>, x: Value, dim: Axis) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    if cx.rank(x)? > 0 {
        return Ok(cx.op(op.named()).input(x).int("axis", dim.0 as i64).one());
    }
    Ok(cx.squeeze(cx.op(op.named()).input(cx.unsqueeze(x, &[0])).int("axis", 0).one(), &[0]))
}
