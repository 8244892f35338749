//! Binary exponents and neighbours of floating-point numbers, by arithmetic in `f64` that is exact; greatest common
//! divisors.

use onnxport_sdk::prelude::*;

use crate::control::rounds::repeat_while;
use crate::support::{empty, select};

const F64: DType = DType::F64;

/// `2^exponent`.
fn power(cx: &Lower, exponent: Value) -> Value {
    cx.pow(cx.float(2.0, F64), exponent)
}

/// The mantissa, from 1/2 to 1, and the exponent of a finite positive `f64`.
fn split(cx: &Lower, x: Value) -> (Value, Value) {
    let guess = cx.floor(cx.log(x) * std::f64::consts::LOG2_E) + 1.0;
    // Two factors, since one may be too large or too small for the type.
    let half = cx.floor(guess * 0.5);
    let mantissa = x * power(cx, -half) * power(cx, half - guess);
    // The logarithm is rounded.
    let (large, small) = (cx.greater_equal(mantissa, 1.0), cx.less(mantissa, 0.5));
    let step = |high: f64, low: f64, none: f64| {
        let number = |x| cx.float(x, F64);
        cx.select(large, number(high), cx.select(small, number(low), number(none)))
    };
    (mantissa * step(0.5, 2.0, 1.0), guess + step(1.0, -1.0, 0.0))
}

/// Whether an `f64` is finite and not 0.
fn is_regular(cx: &Lower, size: Value) -> Value {
    cx.greater(size, 0.0) & cx.less(size, f64::INFINITY)
}

/// `self = mantissa * 2^exponent` with a mantissa from 1/2 to 1; 0, infinities and NaN have the exponent 0.
#[lowering("aten.frexp.Tensor", "prims.frexp.default")]
fn frexp(cx: &Lower, x: Value) -> Res<(Value, Value)> {
    let dtype = cx.result(0)?.dtype;
    let wide = cx.cast(x, F64);
    let size = cx.abs(wide);
    let regular = is_regular(cx, size);
    let (mantissa, exponent) = split(cx, cx.select(regular, size, 1.0));
    let mantissa = cx.select(regular, mantissa * cx.sign(wide), wide);
    let exponent = cx.select(regular, exponent, 0.0);
    Ok((cx.cast(mantissa, dtype), cx.cast(exponent, DType::I32)))
}

/// The number next to `self` in the direction of `other`.
#[lowering("aten.nextafter.default", "prims.nextafter.default")]
fn nextafter(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (digits, least) = match dtype {
        DType::F16 => (11.0, -24.0),
        DType::BF16 => (8.0, -133.0),
        DType::F32 => (24.0, -149.0),
        DType::F64 => (53.0, -1074.0),
        other => return Err(format!("the neighbours of numbers of type {other} are not known").into()),
    };
    let (x, y) = (cx.cast(a, F64), cx.cast(b, F64));
    let size = cx.abs(x);
    let (mantissa, exponent) = split(cx, cx.select(is_regular(cx, size), size, 1.0));
    let up = cx.select(cx.greater(y, x), cx.float(1.0, F64), cx.float(-1.0, F64));
    // Below a power of two the numbers lie twice as dense.
    let dense = cx.equal(mantissa, 0.5) & cx.less(up * cx.sign(x), 0.0);
    let exponent = exponent - cx.select(dense, cx.float(digits + 1.0, F64), cx.float(digits, F64));
    let near_zero = cx.equal(x, 0.0);
    let exponent = cx.select(near_zero, least, cx.max(exponent, cx.float(least, F64)));
    let next = x + up * power(cx, exponent);
    let largest =
        2.0 * (1.0 - 0.5f64.powf(digits)) * 2f64.powf(if dtype == DType::F16 { 15.0 } else { 127.0 });
    let largest = if dtype == DType::F64 { f64::MAX } else { largest };
    let next = cx.select(cx.equal(size, f64::INFINITY), cx.sign(x) * largest, next);
    let next = cx.select(cx.equal(x, y), y, next);
    Ok(cx.cast(select(cx, cx.is_nan(x) | cx.is_nan(y), f64::NAN, next, F64), dtype))
}

/// The greatest common divisor of magnitudes by Euclid's algorithm, in `i64`.
fn common_divisor(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    // Of Fibonacci numbers below 2^63 it takes 91 rounds.
    let [a, _] = repeat_while(cx, cx.ints(&[96]), [cx.abs(a), cx.abs(b)], |_, [a, b]| {
        let done = cx.equal(b, 0i64);
        let rest = cx.select(done, 0i64, cx.modulo(a, cx.select(done, 1i64, b), false));
        let going = cx.greater(cx.reduce(op::ReduceMax, rest, &[], false), 0i64);
        Ok((Some(going), [cx.select(done, a, b), rest]))
    })?;
    Ok(a)
}

/// Both operands as `i64` of the result's shape.
fn integers(cx: &Lower, a: Value, b: Value) -> Res<[Value; 2]> {
    let shape = cx.result(0)?.shape;
    Ok([a, b].map(|v| {
        let v = cx.cast(v, DType::I64);
        if shape.is_empty() { v } else { cx.expand(v, cx.dims_value(&shape)) }
    }))
}

/// The greatest common divisor.
#[lowering("aten.gcd.default", "prims.gcd.default")]
fn gcd(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let [a, b] = integers(cx, a, b)?;
    Ok(cx.cast(common_divisor(cx, a, b)?, cx.result(0)?.dtype))
}

/// The least common multiple, wrapped around as PyTorch's; 0 where an operand is.
#[lowering("aten.lcm.default")]
fn lcm(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let dtype = cx.result(0)?.dtype;
    let [a, b] = integers(cx, a, b)?;
    let divisor = common_divisor(cx, a, b)?;
    let multiple = a / cx.select(cx.equal(divisor, 0i64), 1i64, divisor) * b;
    // The product wraps around before its sign goes.
    Ok(cx.cast(cx.abs(cx.cast(cx.cast(multiple, dtype), DType::I64)), dtype))
}
