//! Lowerings of the operators that `ops.py` defines.

use onnxport_sdk::prelude::*;

/// `x / sqrt(mean(x * x) + eps) * weight` along the last axis: a handful of ONNX's operators.
#[lowering("example.rms_scale.default")]
fn rms_scale(cx: &Lower, x: Value, weight: Value, eps: f64) -> Res<Value> {
    let mean = cx.reduce(op::ReduceMean, x * x, &[-1], true);
    Ok(x / cx.sqrt(mean + eps) * weight)
}

/// Scales the rows of `x` down to a norm of at most `limit`. The operator writes to `x`; its lowering returns
/// the new value of `x`, and onnxport replaces `x` with it from there on.
#[lowering("example.clip_rows_.default")]
fn clip_rows(cx: &Lower, x: Value, limit: f64) -> Res<Value> {
    if limit < 0.0 {
        return Err(Refusal::new("argument `limit` is negative").code("E01").help("pass a norm"));
    }
    let norm = cx.reduce(op::ReduceL2, x, &[-1], true);
    Ok(x * cx.min(limit / norm, 1.0))
}

/// `x * sigmoid(beta * x)`, as a function of the model: every call is one node `example::Swish`.
#[lowering("example.swish.default")]
fn swish(cx: &Lower, x: Value, beta: f64) -> Res<Value> {
    let [y] = cx.function("example", "Swish").input(x).float("beta", beta).body(|cx, [x]| {
        let beta = cx.op(op::Constant).refer("value_float", "beta").one();
        let beta = cx.op(op::CastLike).input(beta).input(x).one();
        Ok([x * cx.sigmoid(x * beta)])
    })?;
    Ok(y)
}

onnxport_sdk::export_plugin! { id: "example", schemas: include_str!("../schemas.txt") }
