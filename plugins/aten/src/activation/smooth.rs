//! Activations made of exponentials.

use onnxport_sdk::prelude::*;

use crate::support::{defined_type, fits_attribute, node, scaled, select, shifted};

/// `log(1 + exp(x))`.
pub(crate) fn log_one_plus_exp(cx: &Lower, x: Value, dtype: DType) -> Value {
    node(cx, op::Softplus, &[x], dtype)
}

/// `log(1 + exp(beta * x)) / beta`, and `x` where `beta * x` is above `threshold`.
#[lowering("aten.softplus.default")]
fn softplus(cx: &Lower, x: Value, beta: f64, threshold: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let argument = scaled(x, beta);
    let y = log_one_plus_exp(cx, argument, dtype);
    let y = if beta == 1.0 { y } else { y / beta };
    // Above 20 both differ by less than the rounding of `f32`.
    if threshold >= 20.0 && dtype != DType::F64 {
        return Ok(y);
    }
    Ok(cx.select(cx.greater(argument, threshold), x, y))
}

/// `-log(1 + exp(-x))`.
fn log_of_sigmoid(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(-log_one_plus_exp(cx, -x, dtype))
}

/// `log(sigmoid(x))`.
#[lowering("aten.log_sigmoid.default")]
fn log_sigmoid(cx: &Lower, x: Value) -> Res<Value> {
    log_of_sigmoid(cx, x)
}

/// `log(sigmoid(x))`; the buffer for the gradient is empty, as it is on a GPU.
#[lowering("aten.log_sigmoid_forward.default")]
fn log_sigmoid_forward(cx: &Lower, x: Value) -> Res<Vec<Option<Value>>> {
    Ok(vec![Some(log_of_sigmoid(cx, x)?), None])
}

/// `scale * x` where it is positive, else `scale * alpha * (exp(x * input_scale) - 1)`.
#[lowering("aten.elu.default")]
fn elu(cx: &Lower, x: Value, alpha: f64, scale: f64, input_scale: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if !fits_attribute(alpha, dtype) || input_scale != 1.0 {
        return Ok(exponential(cx, x, [alpha * scale, scale, input_scale], dtype));
    }
    Ok(scaled(cx.op(op::Elu).input(x).alpha(alpha).one(), scale))
}

/// `negative * (exp(x * inside) - 1)` where `x` is negative, else `positive * x`.
fn exponential(cx: &Lower, x: Value, [negative, positive, inside]: [f64; 3], dtype: DType) -> Value {
    let argument = scaled(x, inside);
    let (below, above) = (scaled(shifted(cx.exp(argument), -1.0), negative), scaled(x, positive));
    select(cx, cx.less(x, 0.0), below, above, dtype)
}

/// `elu` with the constants of self-normalising networks.
#[lowering("aten.selu.default")]
fn selu(cx: &Lower, x: Value) -> Res<Value> {
    const ALPHA: f64 = 1.673_263_242_354_377_2;
    const SCALE: f64 = 1.050_700_987_355_480_5;
    let dtype = cx.result(0)?.dtype;
    if !fits_attribute(ALPHA, dtype) {
        return Ok(exponential(cx, x, [ALPHA * SCALE, SCALE, 1.0], dtype));
    }
    Ok(cx.op(op::Selu).input(x).alpha(ALPHA).gamma(SCALE).one())
}

/// `x` where it is positive, else `alpha * (exp(x / alpha) - 1)`.
#[lowering("aten.celu.default")]
fn celu(cx: &Lower, x: Value, alpha: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    // ONNX has no `Celu` of f64. It computes the lower branch of every element: an infinite `alpha` makes NaN of all.
    if dtype == DType::F64 || !(alpha as f32).is_normal() {
        return Ok(exponential(cx, x, [alpha, 1.0, 1.0 / alpha], dtype));
    }
    let defined = defined_type(cx, op::Celu, dtype);
    Ok(cx.cast(cx.op(op::Celu).input(cx.cast(x, defined)).alpha(alpha).one(), dtype))
}

/// `x * sigmoid(x)`.
#[lowering("aten.silu.default")]
fn silu(cx: &Lower, x: Value) -> Res<Value> {
    Ok(x * cx.sigmoid(x))
}

/// `x * tanh(log(1 + exp(x)))`.
#[lowering("aten.mish.default")]
fn mish(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(node(cx, op::Mish, &[x], dtype))
}
