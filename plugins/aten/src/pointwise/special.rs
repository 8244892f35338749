//! Functions around the logarithm and the error function.

use onnxport_sdk::prelude::*;

use crate::activation::log_one_plus_exp;
use crate::support::{constant, extreme, node, polynomial, scaled, select, shifted};

/// `1 - erf(x)`.
#[lowering("aten.erfc.default", "prims.erfc.default", "aten.special_erfc.default")]
fn erfc(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let (one, erf) = (constant(cx, 1.0, dtype), node(cx, "Erf", &[x], dtype));
    Ok(cx.sub(one, erf))
}

/// The logarithm of `exp(x^2) * erfc(x)` for `x` not below zero, to a relative error of `1.2e-7`:
/// `log(t) + p(t)` with `t = 1 / (1 + x / 2)`. Source: Numerical Recipes, `erfcc`.
fn log_erfcx(cx: &mut Lower, x: Value, dtype: DType) -> Value {
    const P: [f64; 10] = [
        0.170_872_77,
        -0.822_152_23,
        1.488_515_87,
        -1.135_203_98,
        0.278_868_07,
        -0.186_288_06,
        0.096_784_18,
        0.374_091_96,
        1.000_023_68,
        -1.265_512_23,
    ];
    let half = scaled(cx, x, 0.5, dtype);
    let sum = shifted(cx, half, 1.0, dtype);
    let t = cx.reciprocal(sum);
    let (p, log) = (polynomial(cx, t, &P, dtype), cx.log(t));
    cx.add(log, p)
}

/// `exp(x^2) * erfc(x)`; below zero `2 * exp(x^2) - erfcx(-x)`.
#[lowering("aten.special_erfcx.default", "prims.erfcx.default")]
fn erfcx(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let size = cx.abs(x);
    let log = log_erfcx(cx, size, dtype);
    let (right, square) = (cx.exp(log), cx.mul(x, x));
    let power = cx.exp(square);
    let double = scaled(cx, power, 2.0, dtype);
    let (left, zero) = (cx.sub(double, right), constant(cx, 0.0, dtype));
    let negative = cx.less(x, zero);
    Ok(select(cx, negative, left, right, dtype))
}

/// The distribution function of the normal distribution: `(1 + erf(x / sqrt(2))) / 2`.
#[lowering("aten.special_ndtr.default")]
fn ndtr(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let argument = scaled(cx, x, std::f64::consts::FRAC_1_SQRT_2, dtype);
    let erf = node(cx, "Erf", &[argument], dtype);
    let sum = shifted(cx, erf, 1.0, dtype);
    Ok(scaled(cx, sum, 0.5, dtype))
}

/// `log(ndtr(x))`, from the tail `log(erfc(z) / 2)` with `z = |x| / sqrt(2)` on both sides.
#[lowering("aten.special_log_ndtr.default")]
fn log_ndtr(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let size = cx.abs(x);
    let z = scaled(cx, size, std::f64::consts::FRAC_1_SQRT_2, dtype);
    let (log, square) = (log_erfcx(cx, z, dtype), cx.mul(z, z));
    let log = shifted(cx, log, -std::f64::consts::LN_2, dtype);
    let tail = cx.sub(log, square);
    let (power, one, zero) = (cx.exp(tail), constant(cx, 1.0, dtype), constant(cx, 0.0, dtype));
    let rest = cx.sub(one, power);
    let (right, negative) = (cx.log(rest), cx.less(x, zero));
    Ok(select(cx, negative, tail, right, dtype))
}

/// The inverse of `erf` by two polynomials in `w = -log(1 - x^2)`. Source: M. Giles, "Approximating
/// the erfinv function".
fn erfinv_of(cx: &mut Lower, x: Value, dtype: DType) -> Value {
    const NEAR: [f64; 9] = [
        2.810_226_36e-08,
        3.432_739_39e-07,
        -3.523_387_7e-06,
        -4.391_506_54e-06,
        0.000_218_580_87,
        -0.001_253_725_03,
        -0.004_177_681_64,
        0.246_640_727,
        1.501_409_41,
    ];
    const FAR: [f64; 9] = [
        -0.000_200_214_257,
        0.000_100_950_558,
        0.001_349_343_22,
        -0.003_673_428_44,
        0.005_739_507_73,
        -0.007_622_461_3,
        0.009_438_870_47,
        1.001_674_06,
        2.832_976_82,
    ];
    let one = constant(cx, 1.0, dtype);
    let (low, high) = (cx.sub(one, x), cx.add(one, x));
    let product = cx.mul(low, high);
    let log = cx.log(product);
    let w = cx.neg(log);
    let (five, root) = (constant(cx, 5.0, dtype), cx.sqrt(w));
    let (near, far) = (shifted(cx, w, -2.5, dtype), shifted(cx, root, -3.0, dtype));
    let (near, far) = (polynomial(cx, near, &NEAR, dtype), polynomial(cx, far, &FAR, dtype));
    let is_near = cx.less(w, five);
    let p = cx.select(is_near, near, far);
    let (inside, size) = (cx.mul(p, x), cx.abs(x));
    let (at_end, infinity) = (cx.equal(size, one), constant(cx, f64::INFINITY, dtype));
    let infinite = cx.mul(x, infinity);
    cx.select(at_end, infinite, inside)
}

/// The inverse of `erf`.
#[lowering("aten.erfinv.default", "prims.erf_inv.default", "aten.special_erfinv.default")]
fn erfinv(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    Ok(erfinv_of(cx, x, dtype))
}

/// The inverse of `ndtr`: `sqrt(2) * erfinv(2x - 1)`.
#[lowering("aten.special_ndtri.default", "prims.ndtri.default")]
fn ndtri(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let double = scaled(cx, x, 2.0, dtype);
    let argument = shifted(cx, double, -1.0, dtype);
    let y = erfinv_of(cx, argument, dtype);
    Ok(scaled(cx, y, std::f64::consts::SQRT_2, dtype))
}

/// `log(x / (1 - x))`, with `x` clamped to `[eps, 1 - eps]` where `eps` is given.
#[lowering("aten.logit.default", "aten.special_logit.default")]
fn logit(cx: &mut Lower, x: Value, eps: Option<f64>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let mut x = cx.cast(x, dtype);
    if let Some(eps) = eps.filter(|e| *e >= 0.0) {
        if eps > 0.5 {
            return Err("an `eps` above a half leaves no numbers between its bounds".into());
        }
        let (low, high) = (constant(cx, eps, dtype), constant(cx, 1.0 - eps, dtype));
        x = cx.clip(x, Some(low), Some(high));
    }
    let one = constant(cx, 1.0, dtype);
    let rest = cx.sub(one, x);
    let odds = cx.div(x, rest);
    Ok(cx.log(odds))
}

/// `sin(pi x) / (pi x)`, and 1 at 0.
#[lowering("aten.sinc.default", "aten.special_sinc.default")]
fn sinc(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let angle = scaled(cx, x, std::f64::consts::PI, dtype);
    let sin = node(cx, "Sin", &[angle], dtype);
    let (ratio, zero, one) = (cx.div(sin, angle), constant(cx, 0.0, dtype), constant(cx, 1.0, dtype));
    let at_zero = cx.equal(x, zero);
    Ok(select(cx, at_zero, one, ratio, dtype))
}

/// `max(a, b) + log(1 + exp(-|a - b|))`, where equal operands differ by 0 even if they are infinite.
fn log_sum(cx: &mut Lower, a: Value, b: Value, base: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b) = (cx.cast(a, dtype), cx.cast(b, dtype));
    let (difference, equal, zero) = (cx.sub(a, b), cx.equal(a, b), constant(cx, 0.0, dtype));
    let difference = select(cx, equal, zero, difference, dtype);
    let size = cx.abs(difference);
    let exponent = scaled(cx, size, -base, dtype);
    let log = log_one_plus_exp(cx, exponent, dtype);
    let (log, largest) = (scaled(cx, log, 1.0 / base, dtype), extreme(cx, "Max", a, b, dtype));
    Ok(cx.add(largest, log))
}

/// `log(exp(self) + exp(other))`.
#[lowering("aten.logaddexp.default")]
fn logaddexp(cx: &mut Lower, a: Value, b: Value) -> Res<Value> {
    log_sum(cx, a, b, 1.0)
}

/// `log2(2^self + 2^other)`.
#[lowering("aten.logaddexp2.default")]
fn logaddexp2(cx: &mut Lower, a: Value, b: Value) -> Res<Value> {
    log_sum(cx, a, b, std::f64::consts::LN_2)
}

/// `x * log(y + shift)`, 0 where `x` is 0 unless `y` is NaN.
fn x_log(cx: &mut Lower, a: Operand, b: Operand, shift: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (x, y) = (cx.operand(&a, dtype), cx.operand(&b, dtype));
    let argument = shifted(cx, y, shift, dtype);
    let log = cx.log(argument);
    let product = cx.mul(x, log);
    if matches!(a, Operand::Number(n) if n.as_f64().is_some_and(|n| n != 0.0)) {
        return Ok(product);
    }
    let zero = constant(cx, 0.0, dtype);
    let (none, is_nan) = (cx.equal(x, zero), cx.is_nan(y));
    let other = select(cx, is_nan, y, zero, dtype);
    Ok(select(cx, none, other, product, dtype))
}

/// `self * log(other)`, and 0 where `self` is 0.
#[lowering(
    "aten.xlogy.Tensor",
    "aten.xlogy.Scalar_Self",
    "aten.xlogy.Scalar_Other",
    "aten.special_xlogy.default",
    "aten.special_xlogy.self_scalar",
    "aten.special_xlogy.other_scalar"
)]
fn xlogy(cx: &mut Lower, a: Operand, b: Operand) -> Res<Value> {
    x_log(cx, a, b, 0.0)
}

/// `self * log(1 + other)`, and 0 where `self` is 0.
#[lowering(
    "aten.special_xlog1py.default",
    "aten.special_xlog1py.self_scalar",
    "aten.special_xlog1py.other_scalar"
)]
fn xlog1py(cx: &mut Lower, a: Operand, b: Operand) -> Res<Value> {
    x_log(cx, a, b, 1.0)
}

/// `-x * log(x)`, 0 at 0 and minus infinity below.
#[lowering("aten.special_entr.default")]
fn entr(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let log = cx.log(x);
    let product = cx.mul(x, log);
    let (inside, zero, low) =
        (cx.neg(product), constant(cx, 0.0, dtype), constant(cx, f64::NEG_INFINITY, dtype));
    let (at_zero, below) = (cx.equal(x, zero), cx.less(x, zero));
    let y = select(cx, at_zero, zero, inside, dtype);
    Ok(select(cx, below, low, y, dtype))
}
