//! Gaussian and gated linear units.

use onnxport_sdk::prelude::*;

use crate::support::{defined_type, scaled};

/// `x * cdf(x)` of the normal distribution, or its approximation by `tanh`.
#[lowering("aten.gelu.default")]
fn gelu(cx: &Lower, x: Value, approximate: Option<Str>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let mode = approximate.map_or("none", |a| a.0);
    if !matches!(mode, "none" | "tanh") {
        return Err(format!("approximate `{mode}` is not one of none and tanh").into());
    }
    let formula = cx.opset() < 20;
    let defined = if mode == "tanh" && formula { dtype } else { defined_type(cx, op::Gelu, dtype) };
    let x = cx.cast(x, defined);
    let y = match (formula, mode) {
        (false, "none") => cx.op(op::Gelu).input(x).one(),
        (false, mode) => cx.op(op::Gelu).input(x).approximate(mode).one(),
        (true, "none") => by_erf(cx, x),
        (true, _) => by_tanh(cx, x),
    };
    Ok(cx.cast(y, dtype))
}

/// `0.5 * x * (1 + erf(x / sqrt(2)))`.
fn by_erf(cx: &Lower, x: Value) -> Value {
    x * (cx.erf(x / std::f64::consts::SQRT_2) + 1.0) * 0.5
}

/// `0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`.
fn by_tanh(cx: &Lower, x: Value) -> Value {
    let term = cx.pow(x, 3.0) * 0.044_715;
    x * (cx.tanh(scaled(x + term, (2.0 / std::f64::consts::PI).sqrt())) + 1.0) * 0.5
}

/// The first half along `dim` times the sigmoid of the second.
#[lowering("aten.glu.default")]
fn glu(cx: &Lower, x: Value, dim: Axis) -> Res<Value> {
    let node = cx.op(op::Split).input(x).axis(dim.0 as i64).num_outputs(2);
    let [linear, gate] = node.outs::<2>();
    Ok(linear * cx.sigmoid(gate))
}
