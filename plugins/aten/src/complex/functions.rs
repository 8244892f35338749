//! Functions of complex numbers, element by element.

use onnxport_sdk::prelude::*;

use super::Complex;
use crate::support::node;

/// Registers functions of complex numbers.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($cx:ident, $z:ident) $($target:literal)+ => $result:expr;)*) => {
        $($(#[$doc])* #[lowering($($target),+, complex)]
        fn $name($cx: &Lower, x: Value) -> Res<Value> {
            let $z = Complex::of($cx, x);
            let result: Complex = $result;
            Ok(result.pairs($cx))
        })*
    };
}

functions! {
    /// `e ^ z`.
    exp(cx, z) "aten.exp.default" => z.exp(cx);
    /// `2 ^ z`.
    exp2(cx, z) "aten.exp2.default" "aten.special_exp2.default" => z.scaled(std::f64::consts::LN_2).exp(cx);
    /// `e ^ z - 1`.
    expm1(cx, z) "aten.expm1.default" "aten.special_expm1.default" => expm1_of(cx, z);
    /// The natural logarithm.
    log(cx, z) "aten.log.default" => z.log(cx)?;
    /// `log(z) / log(2)`.
    log2(cx, z) "aten.log2.default" => z.log(cx)?.scaled(std::f64::consts::LOG2_E);
    /// `log(z) / log(10)`.
    log10(cx, z) "aten.log10.default" => z.log(cx)?.scaled(std::f64::consts::LOG10_E);
    /// `log(1 + z)`.
    log1p(cx, z) "aten.log1p.default" "aten.special_log1p.default" => z.log1p(cx)?;
    /// The square root.
    sqrt(cx, z) "aten.sqrt.default" => z.sqrt(cx)?;
    /// `1 / sqrt(z)`.
    rsqrt(cx, z) "aten.rsqrt.default" => one(cx, z)?.over(cx, z.sqrt(cx)?);
    /// `1 / (1 + e ^ -z)`.
    sigmoid(cx, z) "aten.sigmoid.default" "aten.special_expit.default" => sigmoid_of(cx, z)?;
    /// `z / (1 + e ^ -z)`.
    silu(cx, z) "aten.silu.default" => z * sigmoid_of(cx, z)?;
    /// `sin(pi z) / (pi z)`, and 1 at 0.
    sinc(cx, z) "aten.sinc.default" "aten.special_sinc.default" => sinc_of(cx, z)?;
    /// The hyperbolic sine.
    sinh(cx, z) "aten.sinh.default" => z.sinh(cx)?;
    /// The hyperbolic cosine.
    cosh(cx, z) "aten.cosh.default" => z.cosh(cx)?;
    /// The hyperbolic tangent.
    tanh(cx, z) "aten.tanh.default" => z.tanh(cx)?;
    /// `sinh(iz) / i`.
    sin(cx, z) "aten.sin.default" => z.times_i().sinh(cx)?.over_i();
    /// `cosh(iz)`.
    cos(cx, z) "aten.cos.default" => z.times_i().cosh(cx)?;
    /// `tanh(iz) / i`.
    tan(cx, z) "aten.tan.default" => z.times_i().tanh(cx)?.over_i();
    /// The inverse sine.
    asin(cx, z) "aten.asin.default" "aten.arcsin.default" => asin_of(cx, z)?;
    /// The inverse cosine.
    acos(cx, z) "aten.acos.default" "aten.arccos.default" => acos_of(cx, z)?;
    /// `atanh(iz) / i`.
    atan(cx, z) "aten.atan.default" "aten.arctan.default" => atanh_of(cx, z.times_i())?.over_i();
    /// `asin(iz) / i`.
    asinh(cx, z) "aten.asinh.default" "aten.arcsinh.default" => asin_of(cx, z.times_i())?.over_i();
    /// The inverse hyperbolic cosine.
    acosh(cx, z) "aten.acosh.default" "aten.arccosh.default" => acosh_of(cx, z)?;
    /// The inverse hyperbolic tangent.
    atanh(cx, z) "aten.atanh.default" "aten.arctanh.default" => atanh_of(cx, z)?;
}

/// `sqrt(re^2 + im^2)`.
#[lowering("aten.abs.default", "aten.absolute.default", complex)]
fn abs(cx: &Lower, x: Value) -> Res<Value> {
    Ok(cx.squeeze(Complex::of(cx, x).size(cx), &[-1]))
}

/// `x / |x|`, and 0 at 0.
#[lowering("aten.sgn.default", complex)]
fn sgn(cx: &Lower, x: Value) -> Res<Value> {
    let size = Complex::of(cx, x).size(cx);
    Ok(cx.select(cx.equal(size, 0.0), 0.0, x / size))
}

/// The angle of every number to the positive reals.
#[lowering("aten.angle.default", complex)]
fn angle(cx: &Lower, x: Value) -> Res<Value> {
    Ok(cx.squeeze(Complex::of(cx, x).angle(cx)?, &[-1]))
}

/// 1, in the type of the parts of `z`.
fn one(cx: &Lower, z: Complex) -> Res<Complex> {
    let dtype = cx.dtype(z.re)?;
    Ok(Complex::of(cx, cx.numbers(&[1.0, 0.0], dtype)))
}

/// `expm1(re) cos(im) - 2 sin(im / 2)^2`, and `e^re sin(im)`.
fn expm1_of(cx: &Lower, z: Complex) -> Complex {
    let power = z.exp(cx);
    let half = cx.op(op::Sin).input(z.im * 0.5).one();
    // `expm1(re)` as `tanh(re / 2) (e^re + 1)`.
    let near = cx.tanh(z.re * 0.5) * (cx.exp(z.re) + 1.0);
    let re = near * cx.op(op::Cos).input(z.im).one() - half * half * 2.0;
    Complex { re, im: power.im }
}

/// `1 / (1 + e ^ -z)` as `(tanh(z / 2) + 1) / 2`, which does not overflow.
fn sigmoid_of(cx: &Lower, z: Complex) -> Res<Complex> {
    Ok(z.scaled(0.5).tanh(cx)?.plus(1.0).scaled(0.5))
}

fn sinc_of(cx: &Lower, z: Complex) -> Res<Complex> {
    let angle = z.scaled(std::f64::consts::PI);
    let quotient = angle.times_i().sinh(cx)?.over_i().over(cx, angle);
    let zero = cx.equal(z.re, 0.0) & cx.equal(z.im, 0.0);
    Ok(Complex { re: cx.select(zero, 1.0, quotient.re), im: cx.select(zero, 0.0, quotient.im) })
}

/// The roots of `1 - z` and of `1 + z`. The inverse functions by them have the branch cuts and the accuracy that W. Kahan
/// describes in "Branch Cuts for Complex Elementary Functions" (1987).
fn roots(cx: &Lower, z: Complex) -> Res<[Complex; 2]> {
    Ok([(-z).plus(1.0).sqrt(cx)?, z.plus(1.0).sqrt(cx)?])
}

/// The angle of the point `(x, y)`, and `asinh(s)`.
fn inverse(cx: &Lower, [y, x]: [Value; 2], s: Value) -> Res<Complex> {
    let dtype = cx.dtype(s)?;
    let re = Complex { re: x, im: y }.angle(cx)?;
    Ok(Complex { re, im: node(cx, op::Asinh, &[s], dtype) })
}

fn asin_of(cx: &Lower, z: Complex) -> Res<Complex> {
    let [minus, plus] = roots(cx, z)?;
    inverse(cx, [z.re, (minus * plus).re], (minus.conjugate() * plus).im)
}

fn acos_of(cx: &Lower, z: Complex) -> Res<Complex> {
    let [minus, plus] = roots(cx, z)?;
    let half = inverse(cx, [minus.re, plus.re], (plus.conjugate() * minus).im)?;
    Ok(Complex { re: half.re * 2.0, im: half.im })
}

fn acosh_of(cx: &Lower, z: Complex) -> Res<Complex> {
    let (minus, plus) = (z.plus(-1.0).sqrt(cx)?, z.plus(1.0).sqrt(cx)?);
    let Complex { re: half, im: size } = inverse(cx, [minus.im, plus.re], (minus.conjugate() * plus).re)?;
    Ok(Complex { re: size, im: half * 2.0 })
}

/// `log1p(4 re / ((1 - re)^2 + im^2)) / 4`, and half the angle of `(1 - re)(1 + re) - im^2 + 2 im i`.
fn atanh_of(cx: &Lower, z: Complex) -> Res<Complex> {
    let dtype = cx.dtype(z.re)?;
    let (below, above) = (-z.re + 1.0, z.re + 1.0);
    let ratio = z.re * 4.0 / (below * below + z.im * z.im);
    let angle = Complex { re: below * above - z.im * z.im, im: z.im * 2.0 }.angle(cx)?;
    Ok(Complex { re: crate::pointwise::log1p_of(cx, ratio, dtype) * 0.25, im: angle * 0.5 })
}
