//! Lowerings of the operators that `ops.py` defines.

use onnxport_sdk::prelude::*;

/// `x / sqrt(mean(x * x) + eps) * weight` along the last axis: a handful of ONNX's operators.
#[lowering("example.rms_scale.default")]
fn rms_scale(cx: &mut Lower, x: Value, weight: Value, eps: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let square = cx.mul(x, x);
    let mean = cx.reduce("ReduceMean", square, &[-1], true);
    let eps = cx.float(eps, dtype);
    let mean = cx.add(mean, eps);
    let size = cx.sqrt(mean);
    let unit = cx.div(x, size);
    Ok(cx.mul(unit, weight))
}

/// Scales the rows of `x` down to a norm of at most `limit`. The operator writes to `x`; its lowering returns
/// what `x` is afterwards, and onnxport puts that in the place of `x` from there on.
#[lowering("example.clip_rows_.default")]
fn clip_rows(cx: &mut Lower, x: Value, limit: f64) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if limit < 0.0 {
        return Err(Refusal::new("argument `limit` is negative").code("E01").help("pass a norm"));
    }
    let norm = cx.reduce("ReduceL2", x, &[-1], true);
    let (limit, one) = (cx.float(limit, dtype), cx.float(1.0, dtype));
    let factor = cx.div(limit, norm);
    let factor = cx.min(factor, one);
    Ok(cx.mul(x, factor))
}

/// `x * sigmoid(beta * x)`, as a function of the model: every call is one node `example::Swish`.
#[lowering("example.swish.default")]
fn swish(cx: &mut Lower, x: Value, beta: f64) -> Res<Value> {
    let [y] = cx.function("example", "Swish").input(x).float("beta", beta).body(|cx, [x]| {
        let beta = cx.op("Constant").refer("value_float", "beta").one();
        let beta = cx.op("CastLike").input(beta).input(x).one();
        let scaled = cx.mul(x, beta);
        let gate = cx.sigmoid(scaled);
        Ok([cx.mul(x, gate)])
    })?;
    Ok(y)
}

onnxport_sdk::export_plugin! { id: "example", schemas: include_str!("../schemas.txt") }
