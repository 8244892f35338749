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

/// The gradient of `softmax`, given its result: `(g - sum(g y)) y` along `dim`.
#[lowering("aten._softmax_backward_data.default")]
fn softmax_backward(cx: &Lower, grad_output: Value, output: Value, dim: i64) -> Res<Value> {
    gradient(cx, grad_output, output, dim, |g, y| (g * y, y))
}

/// The gradient of `log_softmax`, given its result: `g - sum(g) exp(y)` along `dim`.
#[lowering("aten._log_softmax_backward_data.default")]
fn log_softmax_backward(cx: &Lower, grad_output: Value, output: Value, dim: i64) -> Res<Value> {
    gradient(cx, grad_output, output, dim, |g, y| (g, cx.exp(y)))
}

/// `g - sum(g) y` along `dim`, of the pair that `terms` makes of the gradient and the result. Narrow floats are computed in
/// f32: differences of rounded products would be far off.
fn gradient(
    cx: &Lower,
    g: Value,
    y: Value,
    dim: i64,
    terms: impl Fn(Value, Value) -> (Value, Value),
) -> Res<Value> {
    let dtype = if cx.dtype(g)? == DType::F64 { DType::F64 } else { DType::F32 };
    let (g, y) = terms(cx.cast(g, dtype), cx.cast(y, dtype));
    let axes = if cx.rank(g)? == 0 { vec![] } else { vec![dim] };
    let sum = reduce(cx, op::ReduceSum, g, &axes, true)?;
    Ok(cx.cast(g - y * sum, cx.result(0)?.dtype))
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
