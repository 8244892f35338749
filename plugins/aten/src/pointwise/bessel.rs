//! Modified Bessel functions: means of exponentials over half a circle. On a periodic integral the
//! midpoint rule is exact to `exp(-2 n^2 / x)` for `n` points.

use onnxport_sdk::prelude::*;

use crate::support::{empty, is_infinite, node, polynomial, select};

/// The cosines at the midpoints of `count` parts of the angle from 0 to `end`.
fn cosines(count: u32, end: f64) -> Vec<f64> {
    let part = end / f64::from(count);
    (0..count).map(|k| (part * (f64::from(k) + 0.5)).cos()).collect()
}

/// `x` times every cosine, in a last axis.
fn spread(cx: &Lower, x: Value, cosines: &[f64], dtype: DType) -> Value {
    cx.unsqueeze(x, &[-1]) * cx.numbers(cosines, dtype)
}

/// The type and number of points in which a result is computed.
fn precision(cx: &Lower) -> Res<(DType, u32)> {
    Ok(if cx.result(0)?.dtype == DType::F64 { (DType::F64, 64) } else { (DType::F32, 24) })
}

/// The mean of `cos^order * op(x cos)` over a quarter circle, where `op` is `Cosh` or `Sinh`.
fn bessel(cx: &Lower, x: Value, op: impl Operator<'static>) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let (kernel, count) = precision(cx)?;
    let (x, cosines) = (cx.cast(x, kernel), cosines(count, std::f64::consts::FRAC_PI_2));
    let product = spread(cx, x, &cosines, kernel);
    let share = |c: &f64| if op.is(op::Sinh) { *c } else { 1.0 } / f64::from(count);
    let weights: Vec<f64> = cosines.iter().map(share).collect();
    let dtype = cx.result(0)?.dtype;
    let mean = cx.matmul(node(cx, op, &[product], kernel), cx.numbers(&weights, kernel));
    // PyTorch divides two infinities.
    Ok(cx.cast(cx.select(is_infinite(cx, x), f64::NAN, mean), dtype))
}

/// The modified Bessel function of the first kind, of order 0.
#[lowering(
    "aten.i0.default",
    "prims.bessel_i0.default",
    "aten.special_i0.default",
    "aten.special_modified_bessel_i0.default"
)]
fn i0(cx: &Lower, x: Value) -> Res<Value> {
    bessel(cx, x, op::Cosh)
}

/// The modified Bessel function of the first kind, of order 1.
#[lowering("aten.special_i1.default", "prims.bessel_i1.default", "aten.special_modified_bessel_i1.default")]
fn i1(cx: &Lower, x: Value) -> Res<Value> {
    bessel(cx, x, op::Sinh)
}

/// The mean of `cos^order * exp(|x| (cos - 1))` over half a circle, and above 100 the asymptotic
/// series with these coefficients in `1 / |x|`.
fn scaled_bessel(cx: &Lower, size: Value, order: i32, series: [f64; 3]) -> Res<Value> {
    let (kernel, count) = precision(cx)?;
    let cosines = cosines(4 * count, std::f64::consts::PI);
    let lowered: Vec<f64> = cosines.iter().map(|c| c - 1.0).collect();
    let weights: Vec<f64> = cosines.iter().map(|c| c.powi(order) / f64::from(4 * count)).collect();
    let near = cx.matmul(cx.exp(spread(cx, size, &lowered, kernel)), cx.numbers(&weights, kernel));
    let inverse = cx.reciprocal(size);
    let far = polynomial(cx, inverse, &series, kernel) * cx.sqrt(inverse);
    Ok(select(cx, cx.greater(size, 100.0), far, near, kernel))
}

/// The coefficients over `sqrt(2 pi)`.
fn asymptotic(series: [f64; 3]) -> [f64; 3] {
    series.map(|c| c / (2.0 * std::f64::consts::PI).sqrt())
}

/// `exp(-|x|) * i0(x)`.
#[lowering("aten.special_i0e.default", "prims.bessel_i0e.default")]
fn i0e(cx: &Lower, x: Value) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let (kernel, dtype) = (precision(cx)?.0, cx.result(0)?.dtype);
    let x = cx.cast(x, kernel);
    Ok(cx.cast(scaled_bessel(cx, cx.abs(x), 0, asymptotic([9.0 / 128.0, 0.125, 1.0]))?, dtype))
}

/// `exp(-|x|) * i1(x)`.
#[lowering("aten.special_i1e.default", "prims.bessel_i1e.default")]
fn i1e(cx: &Lower, x: Value) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let (kernel, dtype) = (precision(cx)?.0, cx.result(0)?.dtype);
    let x = cx.cast(x, kernel);
    let (size, sign) = (cx.abs(x), cx.sign(x));
    let far = scaled_bessel(cx, size, 1, asymptotic([-15.0 / 128.0, -0.375, 1.0]))? * sign;
    // The mean cancels near 0: x / 2 (1 + x^2 / 8 + x^4 / 192).
    let near = polynomial(cx, x * x, &[1.0 / 384.0, 1.0 / 16.0, 0.5], kernel) * x * cx.exp(-size);
    Ok(cx.cast(select(cx, cx.less(size, 0.1), near, far, kernel), dtype))
}
