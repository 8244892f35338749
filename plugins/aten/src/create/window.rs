//! Windows of signals. Their lengths are numbers of the program, so they are constants.

use onnxport_sdk::prelude::*;

use std::f64::consts::PI;

/// The values of `at` at `i / n` for the indices `i` of a window: `n` is its length if it is periodic,
/// else one less. A window of length 1 is 1.
fn window(cx: &Lower, length: i64, periodic: Option<bool>, at: impl Fn(f64) -> f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if !(0..=1 << 20).contains(&length) {
        return Err(format!("`window_length` is {length}, and at most 2^20 is supported").into());
    }
    let periods = if periodic.unwrap_or(true) { length } else { length - 1 } as f64;
    let value = |i: i64| if length == 1 { 1.0 } else { at(i as f64 / periods) };
    let values: Vec<f64> = (0..length).map(value).collect();
    Ok(cx.numbers(&values, dtype))
}

/// `(1 - cos(2 pi t)) / 2`.
#[lowering("aten.hann_window.default", "aten.hann_window.periodic")]
fn hann(cx: &Lower, window_length: i64, periodic: Option<bool>) -> Res<Value> {
    window(cx, window_length, periodic, |t| 0.5 - 0.5 * (2.0 * PI * t).cos())
}

/// `alpha - beta * cos(2 pi t)`, by default with 0.54 and 0.46.
#[lowering(
    "aten.hamming_window.default",
    "aten.hamming_window.periodic",
    "aten.hamming_window.periodic_alpha",
    "aten.hamming_window.periodic_alpha_beta"
)]
fn hamming(
    cx: &Lower,
    window_length: i64,
    periodic: Option<bool>,
    alpha: Option<f64>,
    beta: Option<f64>,
) -> Res<Value> {
    let (alpha, beta) = (alpha.unwrap_or(0.54), beta.unwrap_or(0.46));
    window(cx, window_length, periodic, |t| alpha - beta * (2.0 * PI * t).cos())
}

/// `0.42 - 0.5 * cos(2 pi t) + 0.08 * cos(4 pi t)`.
#[lowering("aten.blackman_window.default", "aten.blackman_window.periodic")]
fn blackman(cx: &Lower, window_length: i64, periodic: Option<bool>) -> Res<Value> {
    let at = |t: f64| 0.42 - 0.5 * (2.0 * PI * t).cos() + 0.08 * (4.0 * PI * t).cos();
    window(cx, window_length, periodic, at)
}

/// `1 - |2 t - 1|`.
#[lowering("aten.bartlett_window.default", "aten.bartlett_window.periodic")]
fn bartlett(cx: &Lower, window_length: i64, periodic: Option<bool>) -> Res<Value> {
    window(cx, window_length, periodic, |t| 1.0 - (2.0 * t - 1.0).abs())
}

/// The modified Bessel function of order 0 by its power series.
fn i0(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 1..1000 {
        term *= quarter / f64::from(k * k);
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    sum
}

/// `i0(beta * sqrt(1 - (2 t - 1)^2)) / i0(beta)`, by default with a `beta` of 12.
#[lowering("aten.kaiser_window.default", "aten.kaiser_window.periodic", "aten.kaiser_window.beta")]
fn kaiser(cx: &Lower, window_length: i64, periodic: Option<bool>, beta: Option<f64>) -> Res<Value> {
    let beta = beta.unwrap_or(12.0);
    let at = |t: f64| i0(beta * (1.0 - (2.0 * t - 1.0).powi(2)).max(0.0).sqrt()) / i0(beta);
    window(cx, window_length, periodic, at)
}
