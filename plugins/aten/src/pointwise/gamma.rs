//! The gamma function's family, computed in `f64`.

use onnxport_sdk::prelude::*;

use crate::support::{empty, is_infinite, polynomial, scaled, shifted};

const F64: DType = DType::F64;

/// `x` with a last axis along which `terms` are added.
fn fan(cx: &Lower, x: Value, terms: &[f64]) -> Value {
    cx.unsqueeze(x, &[-1]) + cx.numbers(terms, F64)
}

/// The sum along the last axis, which has as many elements as `weights`, each times its weight.
fn gathered(cx: &Lower, x: Value, weights: &[f64]) -> Value {
    cx.matmul(x, cx.numbers(weights, F64))
}

/// `x` for `x` from 1/2, else `1 - x`, and whether it is below.
fn reflected(cx: &Lower, x: Value) -> (Value, Value) {
    let below = cx.less(x, 0.5);
    (cx.select(below, 1.0 - x, x), below)
}

/// `pi` times the distance to the nearest integer, so that the sine at integers is 0.
fn angle(cx: &Lower, x: Value) -> Value {
    scaled(x - cx.round(x), std::f64::consts::PI)
}

/// `log |gamma(x)|` of `f64` by Lanczos's series, and Euler's reflection below 1/2. Source: Numerical
/// Recipes, `gammln`.
fn lgamma_of(cx: &Lower, x: Value) -> Value {
    const SERIES: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.120_865_097_386_617_9e-2,
        -0.539_523_938_495_3e-5,
    ];
    let (z, below) = reflected(cx, x);
    let divisors = fan(cx, z, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let sum = gathered(cx, cx.reciprocal(divisors), &SERIES) + 1.000_000_000_190_015;
    let log_ratio = cx.log(scaled(sum / z, (2.0 * std::f64::consts::PI).sqrt()));
    // (z + 1/2) * log(z + 5.5) - (z + 5.5)
    let (log_base, exponent) = (cx.log(z + 5.5), z + 0.5);
    let right = shifted(exponent * shifted(log_base, -1.0), -5.0) + log_ratio;
    let sin = cx.op(op::Sin).input(angle(cx, x)).one();
    let y = cx.select(below, std::f64::consts::PI.ln() - cx.log(cx.abs(sin)) - right, right);
    // At infinity the terms have opposite signs.
    cx.select(is_infinite(cx, x), f64::INFINITY, y)
}

/// `log |gamma(x)|`.
#[lowering("aten.lgamma.default", "prims.lgamma.default", "aten.special_gammaln.default")]
fn lgamma(cx: &Lower, x: Value) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let dtype = cx.result(0)?.dtype;
    Ok(cx.cast(lgamma_of(cx, cx.cast(x, F64)), dtype))
}

/// `p (p - 1) / 4 * log(pi)` and the sum of `lgamma(x - j / 2)` for `j` below `p`.
#[lowering("aten.mvlgamma.default", "aten.special_multigammaln.default")]
fn mvlgamma(cx: &Lower, x: Value, p: i64) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let dtype = cx.result(0)?.dtype;
    let steps: Vec<f64> = (0..p.clamp(1, 1000)).map(|j| -0.5 * j as f64).collect();
    let sum = gathered(cx, lgamma_of(cx, fan(cx, cx.cast(x, F64), &steps)), &vec![1.0; steps.len()]);
    Ok(cx.cast(shifted(sum, (p * (p - 1)) as f64 / 4.0 * std::f64::consts::PI.ln()), dtype))
}

/// The derivative of `lgamma` of `f64`: its series at `x + 8`, and Euler's reflection below 1/2.
fn digamma_of(cx: &Lower, x: Value) -> Value {
    const SERIES: [f64; 5] = [-1.0 / 132.0, 1.0 / 240.0, -1.0 / 252.0, 1.0 / 120.0, -1.0 / 12.0];
    let (z, below) = reflected(cx, x);
    let steps = fan(cx, z, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let (lower, y) = (gathered(cx, cx.reciprocal(steps), &[1.0; 8]), z + 8.0);
    let (log, inverse) = (cx.log(y), cx.reciprocal(y));
    let w = inverse * inverse;
    let series = polynomial(cx, w, &SERIES, F64) * w;
    let right = log + scaled(inverse, -0.5) + series - lower;
    let angle = angle(cx, x);
    let sin = cx.op(op::Sin).input(angle).one();
    let left = right - scaled(cx.op(op::Cos).input(angle).one() / sin, std::f64::consts::PI);
    // A pole has no value, but 0.
    let left = cx.select(cx.equal(sin, 0.0) & cx.less(x, 0.0), f64::NAN, left);
    // At 0, minus infinity with the sign of 0.
    let y = cx.select(cx.equal(x, 0.0), -cx.reciprocal(x), left);
    cx.select(below, y, right)
}

/// The derivative of `lgamma`.
#[lowering(
    "aten.digamma.default",
    "prims.digamma.default",
    "aten.special_digamma.default",
    "aten.special_psi.default"
)]
fn digamma(cx: &Lower, x: Value) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let dtype = cx.result(0)?.dtype;
    Ok(cx.cast(digamma_of(cx, cx.cast(x, F64)), dtype))
}

/// The sum of `(q + k)^-s` over all `k` from 0, of `f64`, by Euler's and Maclaurin's formula after the
/// first 16 terms.
fn zeta_of(cx: &Lower, s: Value, q: Value) -> Value {
    // (2j)! / B(2j), as in Cephes' zeta.
    const BERNOULLI: [f64; 6] =
        [12.0, -720.0, 30240.0, -1_209_600.0, 47_900_160.0, -1.892_437_580_318_379_2e9];
    let steps: Vec<f64> = (0..16).map(f64::from).collect();
    let terms = fan(cx, q, &steps);
    let minus = -s;
    let head = gathered(cx, cx.pow(terms, cx.unsqueeze(minus, &[-1])), &vec![1.0; steps.len()]);
    let y = q + 16.0;
    let power = cx.pow(y, minus);
    let below = shifted(s, -1.0);
    let (scaled_power, half) = (power * y, power * 0.5);
    let mut sum = head + scaled_power / below + half;
    // s (s + 1) ... (s + 2j) y^(-s - 2j - 1) B(2j) / (2j)!
    let mut factor = power * s / y;
    for (j, divisor) in BERNOULLI.iter().enumerate() {
        sum = sum + scaled(factor, 1.0 / divisor);
        if j + 1 < BERNOULLI.len() {
            for step in [2 * j + 1, 2 * j + 2] {
                factor = factor * shifted(s, step as f64) / y;
            }
        }
    }
    sum
}

/// Hurwitz's zeta function of `self` at `other`; NaN for `self` below 1.
#[lowering(
    "aten.special_zeta.default",
    "prims.zeta.default",
    "aten.special_zeta.self_scalar",
    "aten.special_zeta.other_scalar"
)]
fn zeta(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let dtype = cx.result(0)?.dtype;
    let (s, q) = (cx.operand(&a, F64), cx.operand(&b, F64));
    // As in Cephes: infinite at the poles, and undefined for other powers of negative terms than integers.
    let undefined = cx.less(q, 0.0) & cx.not(cx.equal(s, cx.floor(s)));
    let y = cx.select(undefined, f64::NAN, zeta_of(cx, s, q));
    let pole = cx.less_equal(q, 0.0) & cx.equal(q, cx.floor(q));
    let y = cx.select(pole, f64::INFINITY, y);
    let y = cx.select(cx.equal(s, 1.0), f64::INFINITY, y);
    Ok(cx.cast(cx.select(cx.less(s, 1.0), f64::NAN, y), dtype))
}

/// `f64` has no fractions from here.
const FIRST_WITHOUT_FRACTIONS: f64 = 4_503_599_627_370_496.0;

/// Derivative `n` of `digamma`: `(-1)^(n + 1) n! zeta(n + 1, x)`.
#[lowering("aten.polygamma.default", "aten.special_polygamma.default")]
fn polygamma(cx: &Lower, n: i64) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let dtype = cx.result(0)?.dtype;
    let x: Value = cx.argument("self")?;
    let x = cx.cast(x, F64);
    if !(0..=20).contains(&n) {
        return Err(format!("`n` is {n}, and only 0 to 20 are supported").into());
    }
    let y = if n == 0 {
        digamma_of(cx, x)
    } else {
        let factorial: f64 = (1..=n).map(|k| k as f64).product();
        let order = cx.numbers(&[n as f64 + 1.0], F64);
        let sign = if n % 2 == 0 { -1.0 } else { 1.0 };
        let y = scaled(zeta_of(cx, cx.squeeze(order, &[0]), x), sign * factorial);
        // PyTorch has a series of its own for the first derivative, which ends in 0.
        let y = if n == 1 { cx.select(cx.equal(x, f64::INFINITY), 0.0, y) } else { y };
        // Every number of this size is an integer, and so a pole.
        let pole = cx.less(x, -FIRST_WITHOUT_FRACTIONS) & cx.not(cx.equal(x, f64::NEG_INFINITY));
        cx.select(pole, sign * f64::INFINITY, y)
    };
    Ok(cx.cast(y, dtype))
}
