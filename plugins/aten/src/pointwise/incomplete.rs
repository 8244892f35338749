//! The regularised incomplete gamma functions, in `f64`: below `a + 1` the series of the lower one, above it the continued
//! fraction of the upper one. Source: Numerical Recipes, `gser` and `gcf`.
//!
//! Errors against mpmath are at most 3e-13 for `a` from 1e-3 to 1e3 and `x` up to three times that, and 5e-13 at 1e4. The
//! rounds end where every element has converged; of 1e6 it takes 8000. An element that does not converge is NaN.

use onnxport_sdk::prelude::*;

use crate::control::rounds::repeat_while;
use crate::support::{empty, is_infinite, polynomial, scaled, shifted};

const F64: DType = DType::F64;
const ROUNDS: i64 = 20_000;
const PRECISION: f64 = 1e-16;

/// `x^a exp(-x) / gamma(a + 1)`, by Stirling's series at `a + 10`.
fn factor(cx: &Lower, a: Value, x: Value) -> Value {
    const SERIES: [f64; 5] = [1.0 / 1188.0, -1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0];
    let terms = cx.numbers(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], F64);
    let steps = cx.log(cx.unsqueeze(a, &[-1]) + terms);
    let steps = cx.reduce(op::ReduceSum, steps, &[-1], false);
    let z = a + 10.0;
    let inverse = cx.reciprocal(z);
    let series = polynomial(cx, inverse * inverse, &SERIES, F64) * inverse;
    let gamma = shifted(shifted(z, -0.5) * cx.log(z) - z + series, 0.5 * (2.0 * std::f64::consts::PI).ln());
    cx.exp(a * cx.log(x) - x - (gamma - steps))
}

/// Whether an element is above a bound.
fn any_above(cx: &Lower, x: Value, bound: f64) -> Value {
    cx.greater(cx.reduce(op::ReduceMax, x, &[], false), bound)
}

/// The sum of `x^n / ((a + 1) … (a + n))`.
fn series(cx: &Lower, a: Value, x: Value, one: Value) -> Res<Value> {
    let [term, sum] = repeat_while(cx, cx.ints(&[ROUNDS]), [one, one], |round, [term, sum]| {
        let term = term * x / (a + cx.cast(round, F64) + 1.0);
        let sum = sum + term;
        Ok((Some(any_above(cx, term / sum, PRECISION)), [term, sum]))
    })?;
    Ok(converged(cx, sum, cx.greater(term / sum, PRECISION)))
}

/// `1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - …))` by Lentz's method.
fn fraction(cx: &Lower, a: Value, x: Value, one: Value) -> Res<Value> {
    let first = shifted(x - a, 1.0);
    let inverse = cx.reciprocal(first);
    let start = [one * 1e300, inverse, inverse];
    let [c, d, value] = repeat_while(cx, cx.ints(&[ROUNDS]), start, |round, [c, d, value]| {
        let i = cx.cast(round, F64) + 1.0;
        let (numerator, b) = ((a - i) * i, first + i * 2.0);
        let d = cx.reciprocal(numerator * d + b);
        let c = b + numerator / c;
        let step = c * d;
        Ok((Some(any_above(cx, cx.abs(shifted(step, -1.0)), PRECISION * 4.0)), [c, d, value * step]))
    })?;
    let off = cx.greater(cx.abs(shifted(c * d, -1.0)), PRECISION * 4.0);
    Ok(converged(cx, value, off))
}

/// `value`, or NaN where the rounds ended before it was exact.
fn converged(cx: &Lower, value: Value, off: Value) -> Value {
    cx.select(off, f64::NAN, value)
}

/// The lower function, or the `upper` one.
fn incomplete(cx: &Lower, a: Value, x: Value, upper: bool) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let result = cx.result(0)?;
    let [a, x] = [a, x].map(|v| {
        let v = cx.cast(v, F64);
        if result.shape.is_empty() { v } else { cx.expand(v, cx.dims_value(&result.shape)) }
    });
    let inside = cx.greater(a, 0.0) & cx.greater(x, 0.0);
    let inside = inside & cx.not(is_infinite(cx, a) | is_infinite(cx, x));
    let (order, at) = (cx.select(inside, a, 1.0), cx.select(inside, x, 1.0));
    let border = order + 1.0;
    let one = scaled(order, 0.0) + 1.0;
    let (low, high) = (cx.min(at, border), cx.max(at, border));
    let lower = factor(cx, order, low) * series(cx, order, low, one)?;
    let higher = factor(cx, order, high) * order * fraction(cx, order, high, one)?;
    let below = cx.less(at, border);
    let y = if upper { cx.select(below, 1.0 - lower, higher) } else { cx.select(below, lower, 1.0 - higher) };
    // Outside, in PyTorch's order, the last first.
    let (none, whole) = if upper { (1.0, 0.0) } else { (0.0, 1.0) };
    let y = cx.select(inside, y, f64::NAN);
    let y = cx.select(is_infinite(cx, x), whole, y);
    let at_infinity = cx.select(is_infinite(cx, x), cx.float(f64::NAN, F64), cx.float(none, F64));
    let y = cx.select(is_infinite(cx, a), at_infinity, y);
    let y = cx.select(cx.equal(x, 0.0), none, y);
    let at_zero = cx.select(cx.greater(x, 0.0), cx.float(whole, F64), cx.float(f64::NAN, F64));
    let y = cx.select(cx.equal(a, 0.0), at_zero, y);
    let negative = cx.less(a, 0.0) | cx.less(x, 0.0);
    Ok(cx.cast(cx.select(negative, f64::NAN, y), result.dtype))
}

/// The regularised lower incomplete gamma function.
#[lowering("aten.igamma.default", "prims.igamma.default", "aten.special_gammainc.default")]
fn igamma(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    incomplete(cx, a, b, false)
}

/// The regularised upper incomplete gamma function.
#[lowering("aten.igammac.default", "prims.igammac.default", "aten.special_gammaincc.default")]
fn igammac(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    incomplete(cx, a, b, true)
}
