//! Complex numbers in formulas.

use std::ops::{Add, Mul, Neg, Sub};

use onnxport_sdk::prelude::*;

use crate::pointwise::{atan2_of, is_below, log1p_of};
use crate::support::node;

/// Complex numbers as their real and their imaginary parts: tensors of one shape, with a last axis of size 1.
#[derive(Clone, Copy)]
pub(crate) struct Complex {
    pub(crate) re: Value,
    pub(crate) im: Value,
}

impl Complex {
    /// The parts of pairs.
    pub(crate) fn of(cx: &Lower, pairs: Value) -> Self {
        let [re, im] = cx.op(op::Split).input(pairs).axis(-1).num_outputs(2).outs::<2>();
        Self { re, im }
    }

    /// The numbers as pairs.
    pub(crate) fn pairs(self, cx: &Lower) -> Value {
        cx.concat(&[self.re, self.im], -1)
    }

    /// `size * (cos(angle) + i sin(angle))`.
    pub(crate) fn polar(cx: &Lower, size: Value, angle: Value) -> Self {
        let (cos, sin) = (cx.op(op::Cos).input(angle).one(), cx.op(op::Sin).input(angle).one());
        Self { re: size * cos, im: size * sin }
    }

    /// The conjugates.
    pub(crate) fn conjugate(self) -> Self {
        Self { re: self.re, im: -self.im }
    }

    /// The numbers times i.
    pub(crate) fn times_i(self) -> Self {
        Self { re: -self.im, im: self.re }
    }

    /// The numbers divided by i.
    pub(crate) fn over_i(self) -> Self {
        Self { re: self.im, im: -self.re }
    }

    /// The numbers times real ones.
    pub(crate) fn scaled(self, factor: impl Into<Term<Value>> + Copy) -> Self {
        Self { re: self.re * factor, im: self.im * factor }
    }

    /// The numbers plus a real one.
    pub(crate) fn plus(self, number: f64) -> Self {
        Self { re: self.re + number, im: self.im }
    }

    /// The larger size of both parts, or 1 where that is 0 or infinite: squares of the parts over it neither
    /// overflow nor vanish together.
    fn scale(self, cx: &Lower) -> Value {
        let largest = cx.op(op::Max).inputs([cx.abs(self.re), cx.abs(self.im)]).one();
        cx.select(cx.equal(largest, 0.0) | cx.equal(largest, f64::INFINITY), 1.0, largest)
    }

    /// The absolute values.
    pub(crate) fn size(self, cx: &Lower) -> Value {
        let scale = self.scale(cx);
        let (re, im) = (self.re / scale, self.im / scale);
        cx.sqrt(re * re + im * im) * scale
    }

    /// The angles to the positive reals, from -pi to pi.
    pub(crate) fn angle(self, cx: &Lower) -> Res<Value> {
        let dtype = cx.dtype(self.re)?;
        Ok(atan2_of(cx, self.im, self.re, dtype))
    }

    /// The quotients. Over 0 both parts are divided by 0, as in PyTorch.
    pub(crate) fn over(self, cx: &Lower, divisor: Self) -> Self {
        let scale = divisor.scale(cx);
        let small = Self { re: divisor.re / scale, im: divisor.im / scale };
        let square = small.re * small.re + small.im * small.im;
        let product = self * small.conjugate();
        let zero = cx.equal(square, 0.0);
        let part = |part: Value, own: Value| cx.select(zero, own, part) / square / scale;
        Self { re: part(product.re, self.re), im: part(product.im, self.im) }
    }

    /// `e ^ z`.
    pub(crate) fn exp(self, cx: &Lower) -> Self {
        Self::polar(cx, cx.exp(self.re), self.im)
    }

    /// The natural logarithms.
    pub(crate) fn log(self, cx: &Lower) -> Res<Self> {
        Ok(Self { re: cx.log(self.size(cx)), im: self.angle(cx)? })
    }

    /// `log(1 + z)`, of which the real part is `log1p(2 re + re^2 + im^2) / 2`.
    pub(crate) fn log1p(self, cx: &Lower) -> Res<Self> {
        let dtype = cx.dtype(self.re)?;
        let square = self.re * (self.re + 2.0) + self.im * self.im;
        let near = log1p_of(cx, square, dtype) * 0.5;
        let sum = self.plus(1.0);
        let re = cx.select(cx.less(self.size(cx), 0.5), near, cx.log(sum.size(cx)));
        Ok(Self { re, im: sum.angle(cx)? })
    }

    /// The square roots with a real part of at least 0.
    pub(crate) fn sqrt(self, cx: &Lower) -> Res<Self> {
        let dtype = cx.dtype(self.re)?;
        let one = cx.float(1.0, dtype);
        // The larger part of the root is exact; the other one is half of `im` over it.
        let larger = cx.sqrt((self.size(cx) * 0.5) + cx.abs(self.re) * 0.5);
        let smaller = cx.abs(self.im) / cx.select(cx.equal(larger, 0.0), 1.0, larger) * 0.5;
        let left = cx.less(self.re, 0.0);
        let sign = cx.select(is_below(cx, self.im, dtype), -one, one);
        Ok(Self { re: cx.select(left, smaller, larger), im: cx.select(left, larger, smaller) * sign })
    }

    /// `sinh(re) cos(im) + i cosh(re) sin(im)`.
    pub(crate) fn sinh(self, cx: &Lower) -> Res<Self> {
        let [sinh, cosh, sin, cos] = self.waves(cx)?;
        Ok(Self { re: sinh * cos, im: cosh * sin })
    }

    /// `cosh(re) cos(im) + i sinh(re) sin(im)`.
    pub(crate) fn cosh(self, cx: &Lower) -> Res<Self> {
        let [sinh, cosh, sin, cos] = self.waves(cx)?;
        Ok(Self { re: cosh * cos, im: sinh * sin })
    }

    /// `(sinh(re) cosh(re) + i sin(im) cos(im)) / (sinh(re)^2 + cos(im)^2)`. Beyond 20 the real part is 1 and the
    /// imaginary part vanishes, in float64 as well.
    pub(crate) fn tanh(self, cx: &Lower) -> Res<Self> {
        let dtype = cx.dtype(self.re)?;
        let above = cx.op(op::Max).inputs([self.re, cx.float(-20.0, dtype)]).one();
        let re = cx.op(op::Min).inputs([above, cx.float(20.0, dtype)]).one();
        let [sinh, cosh, sin, cos] = Self { re, im: self.im }.waves(cx)?;
        let square = sinh * sinh + cos * cos;
        Ok(Self { re: sinh * cosh / square, im: sin * cos / square })
    }

    /// Hyperbolic sine and cosine of the real part, sine and cosine of the imaginary part.
    fn waves(self, cx: &Lower) -> Res<[Value; 4]> {
        let dtype = cx.dtype(self.re)?;
        let (sinh, cosh) = (node(cx, op::Sinh, &[self.re], dtype), node(cx, op::Cosh, &[self.re], dtype));
        Ok([sinh, cosh, cx.op(op::Sin).input(self.im).one(), cx.op(op::Cos).input(self.im).one()])
    }
}

impl Add for Complex {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Sub for Complex {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Neg for Complex {
    type Output = Self;

    fn neg(self) -> Self {
        Self { re: -self.re, im: -self.im }
    }
}

impl Mul for Complex {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}
