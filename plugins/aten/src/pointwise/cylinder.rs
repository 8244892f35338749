//! Bessel functions of the first and the second kind, modified Bessel functions of the second kind, and Airy's function,
//! all computed in `f64`. Near 0 a polynomial is added to the part that is singular there; beyond, an amplitude and a phase
//! (Hankel's form) or an exponential are corrected by polynomials in the inverse.
//!
//! Errors against mpmath: 5e-13 of the amplitude for `J` and `Y` up to 1e4; 6e-16 of the value for `K`; for `Ai` 2e-13 of
//! the value or the amplitude from -60 to 60, and 3e-11 down to -1e4. They grow with the phase, which is rounded.

use std::f64::consts::{FRAC_2_PI, PI};

use onnxport_sdk::prelude::*;

use super::tables;
use crate::support::{empty, node, polynomial, scaled, select, shifted};

const F64: DType = DType::F64;

/// A function of an `f64`, in the type of the result.
fn computed(cx: &Lower, x: Value, f: impl FnOnce(Value) -> Value) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let dtype = cx.result(0)?.dtype;
    Ok(cx.cast(f(cx.cast(x, F64)), dtype))
}

/// The larger, or with `op::Min` the smaller, of `x` and `bound`.
fn bounded(cx: &Lower, op: impl Operator<'static>, x: Value, bound: f64) -> Value {
    node(cx, op, &[x, cx.float(bound, F64)], F64)
}

/// `x^2` up to `end`, over which `t` runs from -1 to 1.
fn squared(cx: &Lower, x: Value, end: f64) -> Value {
    shifted(scaled(bounded(cx, op::Min, x * x, end), 2.0 / end), -1.0)
}

/// The sine, and the cosine, of which runtimes have fewer kernels, as a sine.
fn waves(cx: &Lower, x: Value) -> (Value, Value) {
    let sine = |x| node(cx, op::Sin, &[x], F64);
    (sine(x), sine(x + PI / 2.0))
}

/// A Bessel function of order 0 or 1 from 8: `(p a + q b) / sqrt(pi x)`, where `a` and `b` are sums and differences of the
/// sine and the cosine.
fn hankel(cx: &Lower, x: Value, order: usize, second: bool) -> Value {
    let x = bounded(cx, op::Max, x, 8.0);
    let (p, q) = if order == 0 {
        (&tables::J0_P[..], &tables::J0_Q[..])
    } else {
        (&tables::J1_P[..], &tables::J1_Q[..])
    };
    let inverse = cx.reciprocal(x);
    let t = shifted(scaled(inverse * inverse, 128.0), -1.0);
    let (p, q) = (polynomial(cx, t, p, F64), polynomial(cx, t, q, F64) * inverse);
    let (sine, cosine) = waves(cx, x);
    let (sum, difference) = (sine + cosine, sine - cosine);
    let wave = match (order, second) {
        (0, false) => p * sum - q * difference,
        (0, true) => p * difference + q * sum,
        (_, false) => p * difference + q * sum,
        (_, true) => q * difference - p * sum,
    };
    wave / cx.sqrt(scaled(x, PI))
}

fn j0_near(cx: &Lower, t: Value) -> Value {
    polynomial(cx, t, &tables::J0_NEAR, F64)
}

fn j1_near(cx: &Lower, x: Value, t: Value) -> Value {
    polynomial(cx, t, &tables::J1_NEAR, F64) * x
}

/// The Bessel function of the first kind, of order 0.
#[lowering("aten.special_bessel_j0.default", "prims.bessel_j0.default")]
fn bessel_j0(cx: &Lower, x: Value) -> Res<Value> {
    computed(cx, x, |x| {
        let size = cx.abs(x);
        let near = j0_near(cx, squared(cx, size, 64.0));
        cx.select(cx.less(size, 8.0), near, hankel(cx, size, 0, false))
    })
}

/// The Bessel function of the first kind, of order 1.
#[lowering("aten.special_bessel_j1.default", "prims.bessel_j1.default")]
fn bessel_j1(cx: &Lower, x: Value) -> Res<Value> {
    computed(cx, x, |x| {
        let size = cx.abs(x);
        let near = j1_near(cx, x, squared(cx, size, 64.0));
        cx.select(cx.less(size, 8.0), near, hankel(cx, size, 1, false) * cx.sign(x))
    })
}

/// The Bessel function of the second kind, of order 0.
#[lowering("aten.special_bessel_y0.default")]
fn bessel_y0(cx: &Lower, x: Value) -> Res<Value> {
    computed(cx, x, |x| {
        let t = squared(cx, x, 64.0);
        let rest = polynomial(cx, t, &tables::Y0_NEAR, F64);
        let near = scaled(cx.log(x) * j0_near(cx, t), FRAC_2_PI) + rest;
        cx.select(cx.less(x, 8.0), near, hankel(cx, x, 0, true))
    })
}

/// The Bessel function of the second kind, of order 1.
#[lowering("aten.special_bessel_y1.default")]
fn bessel_y1(cx: &Lower, x: Value) -> Res<Value> {
    computed(cx, x, |x| {
        let t = squared(cx, x, 64.0);
        let rest = polynomial(cx, t, &tables::Y1_NEAR, F64) * x;
        let singular = cx.log(x) * j1_near(cx, x, t) - cx.reciprocal(x);
        let near = scaled(singular, FRAC_2_PI) + rest;
        let near = cx.select(cx.equal(x, 0.0), f64::NEG_INFINITY, near);
        cx.select(cx.less(x, 8.0), near, hankel(cx, x, 1, true))
    })
}

/// The modified Bessel function of the second kind, times `exp(x)` where `exponential`.
fn modified(cx: &Lower, x: Value, order: usize, exponential: bool) -> Value {
    let t = squared(cx, x, 4.0);
    let near = if order == 0 {
        let first = polynomial(cx, t, &tables::I0_NEAR, F64);
        polynomial(cx, t, &tables::K0_NEAR, F64) - cx.log(x) * first
    } else {
        let first = polynomial(cx, t, &tables::I1_NEAR, F64);
        let regular = (cx.log(x) * first + polynomial(cx, t, &tables::K1_NEAR, F64)) * x;
        cx.select(cx.equal(x, 0.0), f64::INFINITY, regular + cx.reciprocal(x))
    };
    let large = bounded(cx, op::Max, x, 2.0);
    let table = if order == 0 { &tables::K0_FAR } else { &tables::K1_FAR };
    let t = shifted(scaled(cx.reciprocal(large), 4.0), -1.0);
    let far = polynomial(cx, t, table, F64) / cx.sqrt(large);
    let (near, far) = if exponential { (near * cx.exp(x), far) } else { (near, far * cx.exp(-large)) };
    cx.select(cx.less(x, 2.0), near, far)
}

/// The modified Bessel function of the second kind, of order 0.
#[lowering("aten.special_modified_bessel_k0.default")]
fn modified_bessel_k0(cx: &Lower, x: Value) -> Res<Value> {
    computed(cx, x, |x| modified(cx, x, 0, false))
}

/// The modified Bessel function of the second kind, of order 1.
#[lowering("aten.special_modified_bessel_k1.default")]
fn modified_bessel_k1(cx: &Lower, x: Value) -> Res<Value> {
    computed(cx, x, |x| modified(cx, x, 1, false))
}

/// `exp(x) K0(x)`.
#[lowering("aten.special_scaled_modified_bessel_k0.default")]
fn scaled_modified_bessel_k0(cx: &Lower, x: Value) -> Res<Value> {
    computed(cx, x, |x| modified(cx, x, 0, true))
}

/// `exp(x) K1(x)`.
#[lowering("aten.special_scaled_modified_bessel_k1.default")]
fn scaled_modified_bessel_k1(cx: &Lower, x: Value) -> Res<Value> {
    computed(cx, x, |x| modified(cx, x, 1, true))
}

/// `z = 2/3 x^(3/2)` and `x^(1/4)`.
fn airy_scale(cx: &Lower, x: Value) -> (Value, Value) {
    let root = cx.sqrt(x);
    (scaled(x * root, 2.0 / 3.0), cx.sqrt(root))
}

/// `-2 x sqrt(-x)`, three halves of the phase, overflows in `f32` below this.
const LAST_PHASE: f64 = -3.070_7e25;

/// Airy's function `Ai`; NaN at both infinities and, in `f32`, below [`LAST_PHASE`], as PyTorch has it.
#[lowering("aten.special_airy_ai.default")]
fn airy_ai(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    computed(cx, x, |x| {
        let middle = cx.clamp(x, -6.0, 2.0);
        let near = polynomial(cx, scaled(middle + 2.0, 0.25), &tables::AI_NEAR, F64);
        let root_pi = PI.sqrt();
        let (z, fourth) = airy_scale(cx, bounded(cx, op::Max, x, 2.0));
        // 2 z(2) / z - 1
        let t = shifted(scaled(cx.reciprocal(z), 8.0 / 3.0 * 2f64.sqrt()), -1.0);
        let right = polynomial(cx, t, &tables::AI_RIGHT, F64) * cx.exp(-z) / scaled(fourth, 2.0 * root_pi);
        let right = select(cx, cx.equal(x, f64::INFINITY), f64::NAN, right, F64);
        let (z, fourth) = airy_scale(cx, bounded(cx, op::Max, -x, 6.0));
        let inverse = cx.reciprocal(z);
        // 2 (z(6) / z)^2 - 1, where z(6)^2 = 96
        let t = shifted(scaled(inverse * inverse, 192.0), -1.0);
        let p = polynomial(cx, t, &tables::AI_P, F64);
        let q = polynomial(cx, t, &tables::AI_Q, F64) * inverse;
        let (sine, cosine) = waves(cx, z);
        // Sine and cosine of z + pi / 4.
        let wave = p * (sine + cosine) - q * (cosine - sine);
        let left = wave / scaled(fourth, (2.0 * PI).sqrt());
        let outside = cx.select(cx.less(x, 0.0), left, right);
        let lost = if dtype == F64 { cx.is_nan(x) } else { cx.is_nan(x) | cx.less(x, LAST_PHASE) };
        let outside = cx.select(lost, f64::NAN, outside);
        cx.select(cx.greater_equal(x, -6.0) & cx.less_equal(x, 2.0), near, outside)
    })
}
