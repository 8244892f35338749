//! Gradients of activations, for programs that hold their own backward pass.

use onnxport_sdk::prelude::*;

use crate::support::{scaled, select};

/// `grad * (1 - y) * y` for `y = sigmoid(x)`.
#[lowering("aten.sigmoid_backward.default")]
fn sigmoid_backward(_cx: &Lower, grad_output: Value, output: Value) -> Res<Value> {
    Ok(grad_output * ((1.0 - output) * output))
}

/// `grad * (1 - y^2)` for `y = tanh(x)`.
#[lowering("aten.tanh_backward.default")]
fn tanh_backward(_cx: &Lower, grad_output: Value, output: Value) -> Res<Value> {
    Ok(grad_output * (1.0 - output * output))
}

/// `grad` where `self` is above `threshold`, else 0.
#[lowering("aten.threshold_backward.default")]
fn threshold_backward(cx: &Lower, grad_output: Value, threshold: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x: Value = cx.argument("self")?;
    Ok(select(cx, cx.less_equal(x, threshold), 0.0, grad_output, dtype))
}

/// `grad` where `self` is above 0, else `grad * negative_slope`.
#[lowering("aten.leaky_relu_backward.default")]
fn leaky_relu_backward(cx: &Lower, grad_output: Value, negative_slope: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x: Value = cx.argument("self")?;
    let (zero, small) = (cx.float(0.0, dtype), scaled(grad_output, negative_slope));
    Ok(select(cx, cx.greater(x, zero), grad_output, small, dtype))
}

/// `grad` where `self` is strictly between the bounds, else 0.
#[lowering("aten.hardtanh_backward.default")]
fn hardtanh_backward(cx: &Lower, grad_output: Value, min_val: Scalar, max_val: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x: Value = cx.argument("self")?;
    Ok(select(cx, cx.greater(x, min_val) & cx.less(x, max_val), grad_output, 0.0, dtype))
}
