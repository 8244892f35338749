//! Gradients of activations, for programs that hold their own backward pass.

use onnxport_sdk::prelude::*;

use crate::support::{constant, scaled, select};

/// `grad * (1 - y) * y` for `y = sigmoid(x)`.
#[lowering("aten.sigmoid_backward.default")]
fn sigmoid_backward(cx: &mut Lower, grad_output: Value, output: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let one = constant(cx, 1.0, dtype);
    let rest = cx.sub(one, output);
    let slope = cx.mul(rest, output);
    Ok(cx.mul(grad_output, slope))
}

/// `grad * (1 - y^2)` for `y = tanh(x)`.
#[lowering("aten.tanh_backward.default")]
fn tanh_backward(cx: &mut Lower, grad_output: Value, output: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (one, square) = (constant(cx, 1.0, dtype), cx.mul(output, output));
    let slope = cx.sub(one, square);
    Ok(cx.mul(grad_output, slope))
}

/// `grad` where `self` is above `threshold`, else 0.
#[lowering("aten.threshold_backward.default")]
fn threshold_backward(cx: &mut Lower, grad_output: Value, threshold: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x: Value = cx.argument("self")?;
    let (limit, zero) = (cx.number(&threshold, dtype), constant(cx, 0.0, dtype));
    let below = cx.less_equal(x, limit);
    Ok(select(cx, below, zero, grad_output, dtype))
}

/// `grad` where `self` is above 0, else `grad * negative_slope`.
#[lowering("aten.leaky_relu_backward.default")]
fn leaky_relu_backward(cx: &mut Lower, grad_output: Value, negative_slope: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x: Value = cx.argument("self")?;
    let (zero, small) = (constant(cx, 0.0, dtype), scaled(cx, grad_output, negative_slope, dtype));
    let above = cx.greater(x, zero);
    Ok(select(cx, above, grad_output, small, dtype))
}

/// `grad` where `self` is strictly between the bounds, else 0.
#[lowering("aten.hardtanh_backward.default")]
fn hardtanh_backward(cx: &mut Lower, grad_output: Value, min_val: Scalar, max_val: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x: Value = cx.argument("self")?;
    let (low, high, zero) =
        (cx.number(&min_val, dtype), cx.number(&max_val, dtype), constant(cx, 0.0, dtype));
    let (above, below) = (cx.greater(x, low), cx.less(x, high));
    let inside = cx.and(above, below);
    Ok(select(cx, inside, grad_output, zero, dtype))
}
