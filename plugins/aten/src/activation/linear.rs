//! Activations made of straight lines.

use onnxport_sdk::prelude::*;

use crate::support::{fits_attribute, node, saturated, scaled, select};

/// `max(x, 0)`.
#[lowering("aten.relu.default")]
fn relu(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if dtype.is_float() {
        return Ok(cx.relu(x));
    }
    Ok(node(cx, op::Max, &[x, cx.float(0.0, dtype)], dtype))
}

/// `min(max(x, low), high)`; NaN throughout where a bound is NaN, which `Clip` takes for no bound.
fn between(cx: &Lower, x: Value, low: f64, high: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if dtype.is_float() && (low.is_nan() || high.is_nan()) {
        return Ok(x + f64::NAN);
    }
    let (low, high) = (saturated(Scalar::Float(low), dtype), saturated(Scalar::Float(high), dtype));
    Ok(cx.clamp(cx.cast(x, dtype), low, high))
}

/// `min(max(x, 0), 6)`.
#[lowering("aten.relu6.default")]
fn relu6(cx: &Lower, x: Value) -> Res<Value> {
    between(cx, x, 0.0, 6.0)
}

/// `min(max(x, min_val), max_val)`.
#[lowering("aten.hardtanh.default")]
fn hardtanh(cx: &Lower, x: Value, min_val: f64, max_val: f64) -> Res<Value> {
    between(cx, x, min_val, max_val)
}

/// `min(max(x + 3, 0), 6) / 6`.
#[lowering("aten.hardsigmoid.default")]
fn hardsigmoid(cx: &Lower, x: Value) -> Res<Value> {
    if !fits_attribute(1.0 / 6.0, cx.result(0)?.dtype) {
        return Ok(between(cx, x + 3.0, 0.0, 6.0)? / 6.0);
    }
    Ok(cx.op(op::HardSigmoid).input(x).alpha(1.0 / 6.0).beta(0.5).one())
}

/// `x * min(max(x + 3, 0), 6) / 6`.
#[lowering("aten.hardswish.default")]
fn hardswish(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(node(cx, op::HardSwish, &[x], dtype))
}

/// `x` where it is positive, else `slope * x`.
fn leaky(cx: &Lower, x: Value, slope: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if !fits_attribute(slope, dtype) {
        let (zero, small) = (cx.float(0.0, dtype), scaled(x, slope));
        return Ok(cx.select(cx.greater(x, zero), x, small));
    }
    Ok(cx.op(op::LeakyRelu).input(x).alpha(slope).one())
}

/// `x` where it is positive, else `negative_slope * x`.
#[lowering("aten.leaky_relu.default")]
fn leaky_relu(cx: &Lower, x: Value, negative_slope: f64) -> Res<Value> {
    leaky(cx, x, negative_slope)
}

/// `x` where it is positive, else `slope * x`: the slope is the mean of the bounds, and in training
/// drawn between them for every element.
#[lowering("aten.rrelu.default")]
fn rrelu(cx: &Lower, x: Value, lower: f64, upper: f64, training: bool) -> Res<Value> {
    if !training {
        return leaky(cx, x, f64::midpoint(lower, upper));
    }
    let node = cx.op(op::RandomUniformLike).input(x).low(lower).high(upper);
    let dtype = cx.result(0)?.dtype;
    let small = x * node.one();
    Ok(select(cx, cx.greater(x, 0.0), x, small, dtype))
}

/// `x` where it is positive, else `weight * x`, with a weight for all or each channel of axis 1.
#[lowering("aten.prelu.default", "aten._prelu_kernel.default")]
fn prelu(cx: &Lower, x: Value, weight: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (rank, weights) = (cx.rank(x)?, cx.shape(weight)?);
    let channels = match weights.as_slice() {
        [n] if !n.is(1) && rank > 2 => {
            let mut shape = vec![1; rank - 1];
            if let Some(first) = shape.first_mut() {
                *first = -1;
            }
            cx.reshape(weight, &shape)
        }
        [_] if rank == 0 => cx.squeeze(weight, &[0]),
        _ => weight,
    };
    Ok(node(cx, op::PRelu, &[x, channels], dtype))
}

/// `x` where it is above `threshold`, else `value`.
#[lowering("aten.threshold.default")]
fn threshold(cx: &Lower, x: Value, threshold: Scalar, value: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    // A NaN is not below the threshold and stays.
    Ok(select(cx, cx.less_equal(x, threshold), value, x, dtype))
}

/// `x` moved towards zero by `lambd`, and 0 within that distance. NaN stays, unlike in `Shrink`.
#[lowering("aten.softshrink.default")]
fn softshrink(cx: &Lower, x: Value, lambd: f64) -> Res<Value> {
    Ok(x - cx.clamp(x, -lambd, lambd))
}

/// `x`, and 0 within the distance `lambd` from it. NaN stays, unlike in `Shrink`.
#[lowering("aten.hardshrink.default")]
fn hardshrink(cx: &Lower, x: Value, lambd: f64) -> Res<Value> {
    Ok(cx.select(cx.less_equal(cx.abs(x), lambd), 0.0, x))
}
