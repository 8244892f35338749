//! Gaussian and gated linear units.

use onnxport_sdk::prelude::*;

use crate::support::{constant, kernel_type, scaled, shifted};

/// `x * cdf(x)` of the normal distribution, or its approximation by `tanh`.
#[lowering("aten.gelu.default")]
fn gelu(cx: &mut Lower, x: Value, approximate: Option<Str>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let mode = approximate.map_or("none", |a| a.0);
    if !matches!(mode, "none" | "tanh") {
        return Err(format!("approximate `{mode}` is not one of none and tanh").into());
    }
    // The formula by `tanh` has `f64` kernels throughout.
    let formula = cx.opset() < 20 || (dtype == DType::F64 && mode == "tanh");
    let kernel = if mode == "tanh" && formula { dtype } else { kernel_type(cx, "Gelu", dtype) };
    let x = cx.cast(x, kernel);
    let y = match (formula, mode) {
        (false, "none") => cx.op("Gelu").input(x).one(),
        (false, mode) => cx.op("Gelu").input(x).str("approximate", mode).one(),
        (true, "none") => by_erf(cx, x, kernel),
        (true, _) => by_tanh(cx, x, kernel),
    };
    Ok(cx.cast(y, dtype))
}

/// `0.5 * x * (1 + erf(x / sqrt(2)))`.
fn by_erf(cx: &mut Lower, x: Value, dtype: DType) -> Value {
    let root = constant(cx, std::f64::consts::SQRT_2, dtype);
    let argument = cx.div(x, root);
    let erf = cx.erf(argument);
    let sum = shifted(cx, erf, 1.0, dtype);
    let product = cx.mul(x, sum);
    scaled(cx, product, 0.5, dtype)
}

/// `0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`.
fn by_tanh(cx: &mut Lower, x: Value, dtype: DType) -> Value {
    let three = constant(cx, 3.0, dtype);
    let cube = cx.pow(x, three);
    let term = scaled(cx, cube, 0.044_715, dtype);
    let sum = cx.add(x, term);
    let argument = scaled(cx, sum, (2.0 / std::f64::consts::PI).sqrt(), dtype);
    let tanh = cx.tanh(argument);
    let sum = shifted(cx, tanh, 1.0, dtype);
    let product = cx.mul(x, sum);
    scaled(cx, product, 0.5, dtype)
}

/// The first half along `dim` times the sigmoid of the second.
#[lowering("aten.glu.default")]
fn glu(cx: &mut Lower, x: Value, dim: Axis) -> Res<Value> {
    let node = cx.op("Split").input(x).int("axis", dim.0 as i64).int("num_outputs", 2);
    let [linear, gate] = node.outs::<2>();
    let gate = cx.sigmoid(gate);
    Ok(cx.mul(linear, gate))
}
