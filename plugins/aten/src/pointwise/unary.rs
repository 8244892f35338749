//! One tensor in, one out, mostly a single ONNX node.

use onnxport_sdk::prelude::*;

use super::choose::is_below;
use crate::support::{node, select, shifted, unary};

macro_rules! unaries {
    ($($(#[$doc:meta])* $name:ident $op:ident $($target:literal)+;)*) => {
        $($(#[$doc])* #[lowering($($target),+)]
        fn $name(cx: &Lower, x: Value) -> Res<Value> {
            unary(cx, op::$op, x)
        })*
    };
}

unaries! {
    /// The hyperbolic tangent.
    tanh Tanh "aten.tanh.default" "prims.tanh.default";
    /// `1 / (1 + exp(-x))`.
    sigmoid Sigmoid "aten.sigmoid.default" "aten.special_expit.default";
    /// `e ^ x`.
    exp Exp "aten.exp.default" "prims.exp.default";
    /// The natural logarithm.
    log Log "aten.log.default" "prims.log.default";
    /// The square root.
    sqrt Sqrt "aten.sqrt.default" "prims.sqrt.default";
    /// `1 / x`.
    reciprocal Reciprocal "aten.reciprocal.default" "prims.reciprocal.default";
    /// The error function.
    erf Erf "aten.erf.default" "prims.erf.default" "aten.special_erf.default";
    /// The sine.
    sin Sin "aten.sin.default" "prims.sin.default";
    /// The cosine.
    cos Cos "aten.cos.default" "prims.cos.default";
    /// The tangent.
    tan Tan "aten.tan.default" "prims.tan.default";
    /// The hyperbolic sine.
    sinh Sinh "aten.sinh.default" "prims.sinh.default";
    /// The hyperbolic cosine.
    cosh Cosh "aten.cosh.default" "prims.cosh.default";
    /// The inverse sine.
    asin Asin "aten.asin.default" "prims.asin.default" "aten.arcsin.default";
    /// The inverse cosine.
    acos Acos "aten.acos.default" "prims.acos.default" "aten.arccos.default";
    /// The inverse tangent.
    atan Atan "aten.atan.default" "prims.atan.default" "aten.arctan.default";
    /// The inverse hyperbolic sine.
    asinh Asinh "aten.asinh.default" "prims.asinh.default" "aten.arcsinh.default";
    /// The inverse hyperbolic cosine.
    acosh Acosh "aten.acosh.default" "prims.acosh.default" "aten.arccosh.default";
    /// The inverse hyperbolic tangent.
    atanh Atanh "aten.atanh.default" "prims.atanh.default" "aten.arctanh.default";
}

/// `|x|`; unsigned numbers stay.
#[lowering("aten.abs.default", "prims.abs.default", "aten.absolute.default")]
fn abs(cx: &Lower, x: Value) -> Res<Value> {
    Ok(if matches!(cx.dtype(x)?, DType::U8 | DType::Bool) { x } else { cx.abs(x) })
}

/// -1, 0 or 1 by sign; 0 for NaN, of which `Sign` is NaN.
#[lowering("aten.sign.default", "prims.sign.default", "aten.sgn.default")]
fn sign(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if dtype == DType::Bool {
        return Ok(x);
    }
    let sign = cx.sign(x);
    Ok(if dtype.is_float() { select(cx, cx.is_nan(x), 0.0, sign, dtype) } else { sign })
}

/// The value itself.
#[lowering("aten.positive.default")]
fn positive(_: &Lower, x: Value) -> Res<Value> {
    Ok(x)
}

/// `1 / sqrt(x)`.
#[lowering("aten.rsqrt.default", "prims.rsqrt.default")]
fn rsqrt(cx: &Lower, x: Value) -> Res<Value> {
    Ok(cx.reciprocal(unary(cx, op::Sqrt, x)?))
}

/// `2 ^ x`.
#[lowering("aten.exp2.default", "prims.exp2.default", "aten.special_exp2.default")]
fn exp2(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.pow(2.0, cx.cast(x, dtype)))
}

/// `exp(x) - 1` as `tanh(x / 2) * (exp(x) + 1)`, which keeps the digits of small values.
#[lowering("aten.expm1.default", "prims.expm1.default", "aten.special_expm1.default")]
fn expm1(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let power = cx.exp(x);
    Ok(cx.tanh(x * 0.5) * (power + 1.0))
}

/// `log(1 + x)`.
#[lowering("aten.log1p.default", "prims.log1p.default", "aten.special_log1p.default")]
fn log1p(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(log1p_of(cx, cx.cast(x, dtype), dtype))
}

/// `log(1 + x)`. Near 0 the sum `u` is rounded, and `log(u) * x / (u - 1)` corrects it. Source: D. Goldberg, ACM Computing
/// Surveys 23 (1991), theorem 4.
pub(crate) fn log1p_of(cx: &Lower, x: Value, dtype: DType) -> Value {
    let sum = x + 1.0;
    let log = cx.log(sum);
    let ratio = x / shifted(sum, -1.0);
    let near = select(cx, cx.equal(sum, 1.0), x, log * ratio, dtype);
    select(cx, cx.less(cx.abs(x), 0.5), near, log, dtype)
}

/// `log(x) / log(2)`.
#[lowering("aten.log2.default", "prims.log2.default")]
fn log2(cx: &Lower, x: Value) -> Res<Value> {
    log_to(cx, x, std::f64::consts::LN_2)
}

/// `log(x) / log(10)`.
#[lowering("aten.log10.default", "prims.log10.default")]
fn log10(cx: &Lower, x: Value) -> Res<Value> {
    log_to(cx, x, std::f64::consts::LN_10)
}

fn log_to(cx: &Lower, x: Value, base: f64) -> Res<Value> {
    Ok(unary(cx, op::Log, x)? / base)
}

/// The angle of the point `(x, y)`: `atan(y / x)`, turned by half a circle where `x` is negative.
pub(crate) fn atan2_of(cx: &Lower, y: Value, x: Value, dtype: DType) -> Value {
    let (zero, pi) = (cx.float(0.0, dtype), cx.float(std::f64::consts::PI, dtype));
    // On a diagonal, which also the origin and infinite points are on, the quotient may be undefined.
    let slope = cx.select(cx.equal(cx.abs(y), cx.abs(x)), cx.sign(y) * cx.sign(x), y / x);
    let angle = node(cx, op::Atan, &[slope], dtype);
    // Also -0 is on the left or below.
    let (left, below) = (is_below(cx, x, dtype), is_below(cx, y, dtype));
    angle + cx.select(left, cx.select(below, -std::f64::consts::PI, pi), zero)
}

/// The angle of the point `(other, self)`.
#[lowering("aten.atan2.default", "prims.atan2.default", "aten.arctan2.default")]
fn atan2(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(atan2_of(cx, cx.cast(a, dtype), cx.cast(b, dtype), dtype))
}

/// The angle of real numbers: 0 or pi; NaN stays.
#[lowering("aten.angle.default")]
fn angle(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let zero = cx.float(0.0, dtype);
    let negative = cx.less(x, zero);
    Ok(cx.select(cx.is_nan(x), x, cx.select(negative, std::f64::consts::PI, zero)))
}
