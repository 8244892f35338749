//! Functions around the logarithm and the error function.

use onnxport_sdk::prelude::*;

use super::unary::log1p_of;
use crate::activation::log_one_plus_exp;
use crate::support::{extreme, node, polynomial, scaled, select, shifted};

/// `1 - erf(x)`, which cancels in the right tail: there it is `exp(log_erfcx(x) - x^2)`.
#[lowering("aten.erfc.default", "prims.erfc.default", "aten.special_erfc.default")]
fn erfc(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    // Where the difference and the tail are equally accurate.
    let limit = if dtype == DType::F64 { 4.0 } else { 1.0 };
    let size = cx.abs(x);
    let tail = cx.exp(log_erfcx(cx, size, dtype) - size * size);
    let body = cx.float(1.0, dtype) - node(cx, op::Erf, &[x], dtype);
    Ok(select(cx, cx.greater(x, limit), tail, body, dtype))
}

/// The logarithm of `exp(x^2) * erfc(x)` for `x` not below zero, to a relative error of `1.2e-7`:
/// `log(t) + p(t)` with `t = 1 / (1 + x / 2)`. Source: Numerical Recipes, `erfcc`.
fn log_erfcx(cx: &Lower, x: Value, dtype: DType) -> Value {
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
    let t = cx.reciprocal(x * 0.5 + 1.0);
    let p = polynomial(cx, t, &P, dtype);
    cx.log(t) + p
}

/// `exp(x^2) * erfc(x)`; below zero `2 * exp(x^2) - erfcx(-x)`.
#[lowering("aten.special_erfcx.default", "prims.erfcx.default")]
fn erfcx(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let right = cx.exp(log_erfcx(cx, cx.abs(x), dtype));
    let left = cx.exp(x * x) * 2.0 - right;
    Ok(select(cx, cx.less(x, 0.0), left, right, dtype))
}

/// The distribution function of the normal distribution: `(1 + erf(x / sqrt(2))) / 2`.
#[lowering("aten.special_ndtr.default")]
fn ndtr(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    Ok((node(cx, op::Erf, &[scaled(x, std::f64::consts::FRAC_1_SQRT_2)], dtype) + 1.0) * 0.5)
}

/// `log(ndtr(x))`, from the tail `log(erfc(z) / 2)` with `z = |x| / sqrt(2)` on both sides.
#[lowering("aten.special_log_ndtr.default")]
fn log_ndtr(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let z = scaled(cx.abs(x), std::f64::consts::FRAC_1_SQRT_2);
    let (log, square) = (log_erfcx(cx, z, dtype), z * z);
    let tail = shifted(log, -std::f64::consts::LN_2) - square;
    let right = cx.log(1.0 - cx.exp(tail));
    Ok(select(cx, cx.less(x, 0.0), tail, right, dtype))
}

/// The inverse of `erf` by two polynomials in `w = -log(1 - x^2)`. Source: M. Giles, "Approximating
/// the erfinv function".
fn erfinv_of(cx: &Lower, x: Value, dtype: DType) -> Value {
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
    let w = -cx.log((1.0 - x) * (1.0 + x));
    let (five, root) = (cx.float(5.0, dtype), cx.sqrt(w));
    let (near, far) = (shifted(w, -2.5), shifted(root, -3.0));
    let (near, far) = (polynomial(cx, near, &NEAR, dtype), polynomial(cx, far, &FAR, dtype));
    let inside = cx.select(cx.less(w, five), near, far) * x;
    cx.select(cx.equal(cx.abs(x), 1.0), x * f64::INFINITY, inside)
}

/// The inverse of `erf`.
#[lowering("aten.erfinv.default", "prims.erf_inv.default", "aten.special_erfinv.default")]
fn erfinv(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(erfinv_of(cx, cx.cast(x, dtype), dtype))
}

/// The inverse of `ndtr` to a relative error of `1e-7`, by three quotients of polynomials. Source: M. Wichura, "Algorithm
/// AS 241: The percentage points of the normal distribution", `PPND7`.
#[lowering("aten.special_ndtri.default", "prims.ndtri.default")]
fn ndtri(cx: &Lower, x: Value) -> Res<Value> {
    const CENTRE: ([f64; 4], [f64; 4]) = (
        [59.109_374_72, 159.291_132_02, 50.434_271_938, 3.387_132_717_9],
        [67.187_563_6, 78.757_757_664, 17.895_169_469, 1.0],
    );
    const NEAR: ([f64; 4], [f64; 3]) = (
        [0.170_238_211_03, 1.306_728_481_6, 2.756_815_39, 1.423_437_277_7],
        [0.120_211_329_75, 0.737_001_642_5, 1.0],
    );
    const FAR: ([f64; 4], [f64; 3]) = (
        [0.017_337_203_997, 0.428_682_943_37, 3.081_226_386, 6.657_905_115],
        [0.012_258_202_635, 0.241_978_942_25, 1.0],
    );
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let ratio = |at: Value, top: &[f64], bottom: &[f64]| {
        polynomial(cx, at, top, dtype) / polynomial(cx, at, bottom, dtype)
    };
    let centred = shifted(x, -0.5);
    let centre = centred * ratio(0.180_625 - centred * centred, &CENTRE.0, &CENTRE.1);
    let left = cx.less(centred, 0.0);
    let tail = cx.select(left, x, 1.0 - x);
    let root = cx.sqrt(-cx.log(tail));
    let (near, far) = (shifted(root, -1.6), shifted(root, -5.0));
    let near = ratio(near, &NEAR.0, &NEAR.1);
    let outside = cx.select(cx.less(root, 5.0), near, ratio(far, &FAR.0, &FAR.1));
    let outside = select(cx, cx.equal(tail, 0.0), f64::INFINITY, outside, dtype);
    let outside = cx.select(left, -outside, outside);
    Ok(cx.select(cx.less(cx.abs(centred), 0.425), centre, outside))
}

/// `log(x / (1 - x))`, with `x` raised to `eps` or else lowered to `1 - eps`, where `eps` is given.
#[lowering("aten.logit.default", "aten.special_logit.default")]
fn logit(cx: &Lower, x: Value, eps: Option<f64>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let mut x = cx.cast(x, dtype);
    if let Some(eps) = eps.filter(|e| *e >= 0.0) {
        x = if eps > 0.5 {
            // The bounds are in the wrong order, and the lower one comes first.
            let lowered = select(cx, cx.greater(x, 1.0 - eps), 1.0 - eps, x, dtype);
            select(cx, cx.less(x, eps), eps, lowered, dtype)
        } else {
            cx.clamp(x, eps, 1.0 - eps)
        };
    }
    Ok(cx.log(x / (1.0 - x)))
}

/// `sin(pi x) / (pi x)`, and 1 at 0.
#[lowering("aten.sinc.default", "aten.special_sinc.default")]
fn sinc(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let angle = scaled(x, std::f64::consts::PI);
    let ratio = node(cx, op::Sin, &[angle], dtype) / angle;
    Ok(select(cx, cx.equal(x, 0.0), 1.0, ratio, dtype))
}

/// `max(a, b) + log(1 + exp(-|a - b|))`, where equal operands differ by 0 even if they are infinite.
fn log_sum(cx: &Lower, a: Value, b: Value, base: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b) = (cx.cast(a, dtype), cx.cast(b, dtype));
    let difference = a - b;
    let difference = select(cx, cx.equal(a, b), 0.0, difference, dtype);
    let log = scaled(log_one_plus_exp(cx, scaled(cx.abs(difference), -base), dtype), 1.0 / base);
    Ok(extreme(cx, op::Max, a, b, dtype) + log)
}

/// `log(exp(self) + exp(other))`.
#[lowering("aten.logaddexp.default")]
fn logaddexp(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    log_sum(cx, a, b, 1.0)
}

/// `log2(2^self + 2^other)`.
#[lowering("aten.logaddexp2.default")]
fn logaddexp2(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    log_sum(cx, a, b, std::f64::consts::LN_2)
}

/// `x * log(y)`, or `x * log(1 + y)` where `plus_one`; 0 where `x` is 0 unless `y` is NaN.
fn x_log(cx: &Lower, a: Operand, b: Operand, plus_one: bool) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (x, y) = (cx.operand(&a, dtype), cx.operand(&b, dtype));
    let log = if plus_one { log1p_of(cx, y, dtype) } else { cx.log(y) };
    let product = x * log;
    if matches!(a, Operand::Number(n) if n.as_f64().is_some_and(|n| n != 0.0)) {
        return Ok(product);
    }
    Ok(select(cx, cx.equal(x, 0.0), select(cx, cx.is_nan(y), y, 0.0, dtype), product, dtype))
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
fn xlogy(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    x_log(cx, a, b, false)
}

/// `self * log(1 + other)`, and 0 where `self` is 0.
#[lowering(
    "aten.special_xlog1py.default",
    "aten.special_xlog1py.self_scalar",
    "aten.special_xlog1py.other_scalar"
)]
fn xlog1py(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    x_log(cx, a, b, true)
}

/// `-x * log(x)`, 0 at 0 and minus infinity below.
#[lowering("aten.special_entr.default")]
fn entr(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let (inside, at_zero) = (-(x * cx.log(x)), cx.equal(x, 0.0));
    let below = cx.less(x, 0.0);
    Ok(select(cx, below, f64::NEG_INFINITY, select(cx, at_zero, 0.0, inside, dtype), dtype))
}
