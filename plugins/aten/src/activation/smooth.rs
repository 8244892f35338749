//! Activations made of exponentials.

use onnxport_sdk::prelude::*;

use crate::support::{constant, kernel_type, node, scaled, select, shifted};

/// `log(1 + exp(x))`; of `f64`, which `Softplus` lacks, as `max(x, 0) + log(1 + exp(-|x|))`.
pub(crate) fn log_one_plus_exp(cx: &mut Lower, x: Value, dtype: DType) -> Value {
    if dtype != DType::F64 {
        return node(cx, "Softplus", &[x], dtype);
    }
    let (positive, size) = (cx.relu(x), cx.abs(x));
    let minus = cx.neg(size);
    let power = cx.exp(minus);
    let sum = shifted(cx, power, 1.0, dtype);
    let log = cx.log(sum);
    cx.add(positive, log)
}

/// `log(1 + exp(beta * x)) / beta`, and `x` where `beta * x` is above `threshold`.
#[lowering("aten.softplus.default")]
fn softplus(cx: &mut Lower, x: Value, beta: f64, threshold: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let argument = scaled(cx, x, beta, dtype);
    let y = log_one_plus_exp(cx, argument, dtype);
    let y = if beta == 1.0 {
        y
    } else {
        let beta = constant(cx, beta, dtype);
        cx.div(y, beta)
    };
    // Above 20 both differ by less than the rounding of `f32`.
    if threshold >= 20.0 && dtype != DType::F64 {
        return Ok(y);
    }
    let limit = constant(cx, threshold, dtype);
    let linear = cx.greater(argument, limit);
    Ok(cx.select(linear, x, y))
}

/// `-log(1 + exp(-x))`.
fn log_of_sigmoid(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let minus = cx.neg(x);
    let y = log_one_plus_exp(cx, minus, dtype);
    Ok(cx.neg(y))
}

/// `log(sigmoid(x))`.
#[lowering("aten.log_sigmoid.default")]
fn log_sigmoid(cx: &mut Lower, x: Value) -> Res<Value> {
    log_of_sigmoid(cx, x)
}

/// `log(sigmoid(x))`; the buffer for the gradient is empty, as it is on a GPU.
#[lowering("aten.log_sigmoid_forward.default")]
fn log_sigmoid_forward(cx: &mut Lower, x: Value) -> Res<Vec<Option<Value>>> {
    Ok(vec![Some(log_of_sigmoid(cx, x)?), None])
}

/// `scale * x` where it is positive, else `scale * alpha * (exp(x * input_scale) - 1)`.
#[lowering("aten.elu.default")]
fn elu(cx: &mut Lower, x: Value, alpha: f64, scale: f64, input_scale: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if dtype == DType::F64 || input_scale != 1.0 {
        return Ok(exponential(cx, x, [alpha * scale, scale, input_scale], dtype));
    }
    let kernel = kernel_type(cx, "Elu", dtype);
    let x = cx.cast(x, kernel);
    let y = cx.op("Elu").input(x).float("alpha", alpha).one();
    let y = cx.cast(y, dtype);
    Ok(scaled(cx, y, scale, dtype))
}

/// `negative * (exp(x * inside) - 1)` where `x` is negative, else `positive * x`.
fn exponential(cx: &mut Lower, x: Value, [negative, positive, inside]: [f64; 3], dtype: DType) -> Value {
    let argument = scaled(cx, x, inside, dtype);
    let power = cx.exp(argument);
    let below = shifted(cx, power, -1.0, dtype);
    let (below, above) = (scaled(cx, below, negative, dtype), scaled(cx, x, positive, dtype));
    let zero = constant(cx, 0.0, dtype);
    let is_below = cx.less(x, zero);
    select(cx, is_below, below, above, dtype)
}

/// `elu` with the constants of self-normalising networks.
#[lowering("aten.selu.default")]
fn selu(cx: &mut Lower, x: Value) -> Res<Value> {
    const ALPHA: f64 = 1.673_263_242_354_377_2;
    const SCALE: f64 = 1.050_700_987_355_480_5;
    let dtype = cx.result(0)?.dtype;
    if dtype == DType::F64 {
        return Ok(exponential(cx, x, [ALPHA * SCALE, SCALE, 1.0], dtype));
    }
    let kernel = kernel_type(cx, "Selu", dtype);
    let x = cx.cast(x, kernel);
    let y = cx.op("Selu").input(x).float("alpha", ALPHA).float("gamma", SCALE).one();
    Ok(cx.cast(y, dtype))
}

/// `x` where it is positive, else `alpha * (exp(x / alpha) - 1)`.
#[lowering("aten.celu.default")]
fn celu(cx: &mut Lower, x: Value, alpha: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    // `Celu` computes the lower branch of every element: an infinite `alpha` makes NaN of all of them.
    if dtype == DType::F64 || !(alpha as f32).is_normal() {
        return Ok(exponential(cx, x, [alpha, 1.0, 1.0 / alpha], dtype));
    }
    let kernel = kernel_type(cx, "Celu", dtype);
    let x = cx.cast(x, kernel);
    let y = cx.op("Celu").input(x).float("alpha", alpha).one();
    Ok(cx.cast(y, dtype))
}

/// `x * sigmoid(x)`.
#[lowering("aten.silu.default")]
fn silu(cx: &mut Lower, x: Value) -> Res<Value> {
    let gate = cx.sigmoid(x);
    Ok(cx.mul(x, gate))
}

/// `x * tanh(log(1 + exp(x)))`.
#[lowering("aten.mish.default")]
fn mish(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if dtype != DType::F64 {
        return Ok(node(cx, "Mish", &[x], dtype));
    }
    let softplus = log_one_plus_exp(cx, x, dtype);
    let gate = cx.tanh(softplus);
    Ok(cx.mul(x, gate))
}
