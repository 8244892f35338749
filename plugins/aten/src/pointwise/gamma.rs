//! The gamma function's family, computed in `f64`.

use onnxport_sdk::prelude::*;

use crate::support::{constant, empty, polynomial, scaled, shifted};

const F64: DType = DType::F64;

/// `x` with a last axis along which `terms` are added.
fn fan(cx: &mut Lower, x: Value, terms: &[f64]) -> Value {
    let (x, terms) = (cx.unsqueeze(x, &[-1]), cx.numbers(terms, F64));
    cx.add(x, terms)
}

/// The sum along the last axis, which has as many elements as `weights`, each times its weight.
fn gathered(cx: &mut Lower, x: Value, weights: &[f64]) -> Value {
    let weights = cx.numbers(weights, F64);
    cx.matmul(x, weights)
}

/// `x` for `x` from 1/2, else `1 - x`, and whether it is below.
fn reflected(cx: &mut Lower, x: Value) -> (Value, Value) {
    let (half, one) = (constant(cx, 0.5, F64), constant(cx, 1.0, F64));
    let (below, mirror) = (cx.less(x, half), cx.sub(one, x));
    (cx.select(below, mirror, x), below)
}

/// `pi` times the distance to the nearest integer, so that the sine at integers is 0.
fn angle(cx: &mut Lower, x: Value) -> Value {
    let nearest = cx.round(x);
    let rest = cx.sub(x, nearest);
    scaled(cx, rest, std::f64::consts::PI, F64)
}

/// `log |gamma(x)|` of `f64` by Lanczos's series, and Euler's reflection below 1/2. Source: Numerical
/// Recipes, `gammln`.
fn lgamma_of(cx: &mut Lower, x: Value) -> Value {
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
    let terms = cx.reciprocal(divisors);
    let sum = gathered(cx, terms, &SERIES);
    let sum = shifted(cx, sum, 1.000_000_000_190_015, F64);
    let ratio = cx.div(sum, z);
    let ratio = scaled(cx, ratio, (2.0 * std::f64::consts::PI).sqrt(), F64);
    let (log_ratio, base) = (cx.log(ratio), shifted(cx, z, 5.5, F64));
    // (z + 1/2) * log(z + 5.5) - (z + 5.5)
    let (log_base, exponent) = (cx.log(base), shifted(cx, z, 0.5, F64));
    let log_base = shifted(cx, log_base, -1.0, F64);
    let growth = cx.mul(exponent, log_base);
    let growth = shifted(cx, growth, -5.0, F64);
    let right = cx.add(growth, log_ratio);
    // At infinity the two have opposite signs.
    let infinity = constant(cx, f64::INFINITY, F64);
    let endless = cx.equal(z, infinity);
    let right = cx.select(endless, infinity, right);
    let angle = angle(cx, x);
    let sin = cx.op("Sin").input(angle).one();
    let sin = cx.abs(sin);
    let (log_sin, log_pi) = (cx.log(sin), constant(cx, std::f64::consts::PI.ln(), F64));
    let mirror = cx.sub(log_pi, log_sin);
    let left = cx.sub(mirror, right);
    cx.select(below, left, right)
}

/// `log |gamma(x)|`.
#[lowering("aten.lgamma.default", "prims.lgamma.default", "aten.special_gammaln.default")]
fn lgamma(cx: &mut Lower, x: Value) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let (x, dtype) = (cx.cast(x, F64), cx.result(0)?.dtype);
    let y = lgamma_of(cx, x);
    Ok(cx.cast(y, dtype))
}

/// `p (p - 1) / 4 * log(pi)` and the sum of `lgamma(x - j / 2)` for `j` below `p`.
#[lowering("aten.mvlgamma.default", "aten.special_multigammaln.default")]
fn mvlgamma(cx: &mut Lower, x: Value, p: i64) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let (x, dtype) = (cx.cast(x, F64), cx.result(0)?.dtype);
    let steps: Vec<f64> = (0..p.clamp(1, 1000)).map(|j| -0.5 * j as f64).collect();
    let arguments = fan(cx, x, &steps);
    let logs = lgamma_of(cx, arguments);
    let sum = gathered(cx, logs, &vec![1.0; steps.len()]);
    let y = shifted(cx, sum, (p * (p - 1)) as f64 / 4.0 * std::f64::consts::PI.ln(), F64);
    Ok(cx.cast(y, dtype))
}

/// The derivative of `lgamma` of `f64`: its series at `x + 8`, and Euler's reflection below 1/2.
fn digamma_of(cx: &mut Lower, x: Value) -> Value {
    const SERIES: [f64; 5] = [-1.0 / 132.0, 1.0 / 240.0, -1.0 / 252.0, 1.0 / 120.0, -1.0 / 12.0];
    let (z, below) = reflected(cx, x);
    let steps = fan(cx, z, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let steps = cx.reciprocal(steps);
    let (lower, y) = (gathered(cx, steps, &[1.0; 8]), shifted(cx, z, 8.0, F64));
    let (log, inverse) = (cx.log(y), cx.reciprocal(y));
    let w = cx.mul(inverse, inverse);
    let series = polynomial(cx, w, &SERIES, F64);
    let series = cx.mul(series, w);
    let half = scaled(cx, inverse, -0.5, F64);
    let sum = cx.add(log, half);
    let sum = cx.add(sum, series);
    let right = cx.sub(sum, lower);
    let angle = angle(cx, x);
    let (sin, cos) = (cx.op("Sin").input(angle).one(), cx.op("Cos").input(angle).one());
    let cotangent = cx.div(cos, sin);
    let turned = scaled(cx, cotangent, std::f64::consts::PI, F64);
    let left = cx.sub(right, turned);
    // A pole has no value, but 0, where the digamma function is minus infinity.
    let (zero, nan) = (constant(cx, 0.0, F64), constant(cx, f64::NAN, F64));
    let (whole, negative) = (cx.equal(sin, zero), cx.less(x, zero));
    let pole = cx.and(whole, negative);
    let left = cx.select(pole, nan, left);
    cx.select(below, left, right)
}

/// The derivative of `lgamma`.
#[lowering(
    "aten.digamma.default",
    "prims.digamma.default",
    "aten.special_digamma.default",
    "aten.special_psi.default"
)]
fn digamma(cx: &mut Lower, x: Value) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let (x, dtype) = (cx.cast(x, F64), cx.result(0)?.dtype);
    let y = digamma_of(cx, x);
    Ok(cx.cast(y, dtype))
}

/// The sum of `(q + k)^-s` over all `k` from 0, of `f64`, by Euler's and Maclaurin's formula after the
/// first 16 terms.
fn zeta_of(cx: &mut Lower, s: Value, q: Value) -> Value {
    // (2j)! / B(2j), as in Cephes' zeta.
    const BERNOULLI: [f64; 6] =
        [12.0, -720.0, 30240.0, -1_209_600.0, 47_900_160.0, -1.892_437_580_318_379_2e9];
    let steps: Vec<f64> = (0..16).map(f64::from).collect();
    let terms = fan(cx, q, &steps);
    let minus = cx.neg(s);
    let exponent = cx.unsqueeze(minus, &[-1]);
    let terms = cx.pow(terms, exponent);
    let head = gathered(cx, terms, &vec![1.0; steps.len()]);
    let y = shifted(cx, q, 16.0, F64);
    let power = cx.pow(y, minus);
    let below = shifted(cx, s, -1.0, F64);
    let (scaled_power, half) = (cx.mul(power, y), scaled(cx, power, 0.5, F64));
    let integral = cx.div(scaled_power, below);
    let mut sum = cx.add(head, integral);
    sum = cx.add(sum, half);
    // s (s + 1) ... (s + 2j) y^(-s - 2j - 1) B(2j) / (2j)!
    let mut factor = cx.mul(power, s);
    factor = cx.div(factor, y);
    for (j, divisor) in BERNOULLI.iter().enumerate() {
        let term = scaled(cx, factor, 1.0 / divisor, F64);
        sum = cx.add(sum, term);
        if j + 1 < BERNOULLI.len() {
            for step in [2 * j + 1, 2 * j + 2] {
                let next = shifted(cx, s, step as f64, F64);
                factor = cx.mul(factor, next);
                factor = cx.div(factor, y);
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
fn zeta(cx: &mut Lower, a: Operand, b: Operand) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let dtype = cx.result(0)?.dtype;
    let (s, q) = (cx.operand(&a, F64), cx.operand(&b, F64));
    let y = zeta_of(cx, s, q);
    let (one, nan) = (constant(cx, 1.0, F64), constant(cx, f64::NAN, F64));
    let diverges = cx.less(s, one);
    let y = cx.select(diverges, nan, y);
    Ok(cx.cast(y, dtype))
}

/// Derivative `n` of `digamma`: `(-1)^(n + 1) n! zeta(n + 1, x)`.
#[lowering("aten.polygamma.default", "aten.special_polygamma.default")]
fn polygamma(cx: &mut Lower, n: i64) -> Res<Value> {
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
        let order = cx.squeeze(order, &[0]);
        let zeta = zeta_of(cx, order, x);
        scaled(cx, zeta, if n % 2 == 0 { -factorial } else { factorial }, F64)
    };
    Ok(cx.cast(y, dtype))
}
