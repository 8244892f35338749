//! Arithmetic, element by element.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

mod infer;

use super::call::{Call, one};
use super::error::invalid;
use super::map::{Arithmetic, arithmetic, floats, legacy, numbers, pairs};
use super::strides::broadcast;
use super::{Elements, Op, Res, Tensor, Value};
use crate::tensor::Kind;

pub(super) const OPS: &[Op] = &[
    Op::new("Abs").elementwise().eval(|c| numbers(c, f64::abs, i128::abs)),
    Op::new("Acos").elementwise().eval(|c| floats(c, f64::acos)),
    Op::new("Acosh").elementwise().eval(|c| floats(c, f64::acosh)),
    Op::new("Add")
        .broadcasting()
        .commutative()
        .contents(infer::add)
        .eval(|c| arithmetic(c, |a, b| a + b, |a, b| Ok(a + b))),
    Op::new("Asin").elementwise().eval(|c| floats(c, f64::asin)),
    Op::new("Asinh").elementwise().eval(|c| floats(c, f64::asinh)),
    Op::new("Atan").elementwise().eval(|c| floats(c, f64::atan)),
    Op::new("Atanh").elementwise().eval(|c| floats(c, f64::atanh)),
    Op::new("BitShift").broadcasting().bitwise().eval(bit_shift),
    Op::new("BitwiseAnd")
        .broadcasting()
        .commutative()
        .bitwise()
        .eval(|c| arithmetic(c, |_, _| f64::NAN, |a, b| Ok(a & b))),
    Op::new("BitwiseNot").elementwise().bitwise().eval(|c| numbers(c, |_| f64::NAN, |n| !n)),
    Op::new("BitwiseOr")
        .broadcasting()
        .commutative()
        .bitwise()
        .eval(|c| arithmetic(c, |_, _| f64::NAN, |a, b| Ok(a | b))),
    Op::new("BitwiseXor")
        .broadcasting()
        .commutative()
        .bitwise()
        .eval(|c| arithmetic(c, |_, _| f64::NAN, |a, b| Ok(a ^ b))),
    Op::new("Ceil").elementwise().discontinuous().eval(|c| floats(c, f64::ceil)),
    Op::new("Clip").elementwise().nonexpansive().eval(clip),
    Op::new("Cos").elementwise().eval(|c| floats(c, f64::cos)),
    Op::new("Cosh").elementwise().eval(|c| floats(c, f64::cosh)),
    Op::new("Div").broadcasting().contents(infer::div).eval(|c| arithmetic(c, |a, b| a / b, divide)),
    Op::new("Erf").elementwise().eval(|c| numbers(c, libm::erf, |n| libm::erf(n as f64) as i128)),
    Op::new("Exp").elementwise().eval(|c| floats(c, f64::exp)),
    Op::new("Floor").elementwise().discontinuous().eval(|c| floats(c, f64::floor)),
    Op::new("Log").elementwise().eval(|c| floats(c, f64::ln)),
    Op::new("Max").broadcasting().contents(infer::max).eval(|c| gather(c, larger, |a, b| Ok(a.max(b)))),
    Op::new("Mean").broadcasting().eval(mean),
    Op::new("Min").broadcasting().contents(infer::min).eval(|c| gather(c, smaller, |a, b| Ok(a.min(b)))),
    Op::new("Mod").broadcasting().discontinuous().contents(infer::modulo).eval(modulo),
    Op::new("Mul")
        .broadcasting()
        .commutative()
        .contents(infer::mul)
        .eval(|c| arithmetic(c, |a, b| a * b, |a, b| Ok(a.wrapping_mul(b)))),
    Op::new("Neg").elementwise().contents(infer::neg).eval(|c| numbers(c, |x| -x, |n| -n)),
    Op::new("Pow").broadcasting().eval(power),
    Op::new("Reciprocal").elementwise().eval(|c| floats(c, f64::recip)),
    Op::new("Round").elementwise().discontinuous().eval(|c| floats(c, f64::round_ties_even)),
    Op::new("Sign").elementwise().discontinuous().eval(|c| numbers(c, sign, i128::signum)),
    Op::new("Sin").elementwise().eval(|c| floats(c, f64::sin)),
    Op::new("Sinh").elementwise().eval(|c| floats(c, f64::sinh)),
    Op::new("Sqrt").elementwise().eval(|c| floats(c, f64::sqrt)),
    Op::new("Sub")
        .broadcasting()
        .contents(infer::sub)
        .eval(|c| arithmetic(c, |a, b| a - b, |a, b| Ok(a - b))),
    Op::new("Sum").broadcasting().eval(|c| gather(c, |a, b| a + b, |a, b| Ok(a + b))),
    Op::new("Tan").elementwise().eval(|c| floats(c, f64::tan)),
    Op::new("Tanh").elementwise().eval(|c| floats(c, f64::tanh)),
];

fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { x } else { x.signum() }
}

/// The larger one, or NaN where one of them is.
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// The smaller one, or NaN where one of them is.
pub(super) fn smaller(a: f64, b: f64) -> f64 {
    if a.is_nan() || a < b { a } else { b }
}

/// Cut off towards zero.
fn divide(a: i128, b: i128) -> Res<i128> {
    a.checked_div(b).map_or_else(|| invalid!("an integer is divided by zero"), Ok)
}

/// Every input, one after the other.
fn gather(
    c: &Call<'_>,
    float: impl Fn(f64, f64) -> f64,
    int: impl Fn(i128, i128) -> Res<i128>,
) -> Res<Vec<Value>> {
    let both = Arithmetic { float: &float, int: &int };
    let inputs = c.tensors(0)?;
    let Some((first, rest)) = inputs.split_first() else { return invalid!("there are no inputs") };
    one(rest.iter().try_fold((*first).clone(), |sum, next| both.of(c, &sum, next))?)
}

/// Summed in `f64`, so that it is rounded once.
fn mean(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let inputs = c.tensors(0)?;
    let Some(dtype) = inputs.first().map(|t| t.dtype()) else { return invalid!("there are no inputs") };
    let shape = broadcast(inputs.iter().map(|t| t.shape()))?;
    // The sum of zeros is -0 if all are.
    let mut sum = vec![-0.0; c.count(&shape)?];
    for input in &inputs {
        sum = pairs(&shape, (&sum, &shape), (&input.floats()?, input.shape()), &|a, b| Ok(a + b))?;
    }
    let count = inputs.len() as f64;
    one(Tensor::of_floats(dtype, shape, sum.into_iter().map(|x| x / count).collect())?)
}

/// `fmod` keeps the sign of the dividend; without it the result has that of the divisor.
fn modulo(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let truncated = c.flag("fmod");
    let float = |a: f64, b: f64| {
        let rest = a % b;
        if truncated || rest == 0.0 || (rest < 0.0) == (b < 0.0) { rest } else { rest + b }
    };
    let int = |a: i128, b: i128| {
        let Some(rest) = a.checked_rem(b) else { return invalid!("an integer is divided by zero") };
        Ok(if truncated || rest == 0 || (rest < 0) == (b < 0) { rest } else { rest + b })
    };
    arithmetic(c, float, int)
}

/// The result has the type of the base, whatever the exponent is.
fn power(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (base, exponent) = (c.tensor(0)?, c.tensor(1)?);
    let exponent = &legacy(c, base, exponent)?;
    let shape = broadcast([base.shape(), exponent.shape()])?;
    c.count(&shape)?;
    let dtype = base.dtype();
    if let (Elements::Int(a), Elements::Int(b)) = (base.elements(), exponent.elements()) {
        let out = pairs(&shape, (&a, base.shape()), (&b, exponent.shape()), &|a, b| Ok(integer_power(a, b)))?;
        return one(Tensor::of_ints(dtype, shape, out)?);
    }
    let (a, b) = (base.floats()?, exponent.floats()?);
    let out = pairs(&shape, (&a, base.shape()), (&b, exponent.shape()), &|a, b| Ok(a.powf(b)))?;
    one(Tensor::of_numbers(dtype, shape, out)?)
}

/// Modulo 2¹²⁸; the reciprocal of a negative exponent is cut off towards zero.
fn integer_power(base: i128, exponent: i128) -> i128 {
    match (base, exponent) {
        (1, _) => 1,
        (-1, n) => 1 - 2 * (n & 1),
        (_, ..=-1) => 0,
        (base, n) => {
            let (mut square, mut left, mut out) = (base, n, 1i128);
            while left > 0 {
                if left & 1 == 1 {
                    out = out.wrapping_mul(square);
                }
                square = square.wrapping_mul(square);
                left >>= 1;
            }
            out
        }
    }
}

/// The bounds are inputs, and were attributes before opset 11. Where they cross, the upper one wins.
fn clip(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    let single = |index: usize| c.optional(index)?.map(Tensor::scalar).transpose();
    let (low, high) = (single(1)?, single(2)?);
    if x.dtype().kind() == Kind::Int {
        let bound = |t: Option<Tensor>| Ok(t.map(|t| t.ints()).transpose()?.and_then(|n| n.first().copied()));
        let (low, high) = (bound(low)?.unwrap_or(i128::MIN), bound(high)?.unwrap_or(i128::MAX));
        let out = x.ints()?.into_iter().map(|n| n.max(low).min(high)).collect();
        return one(Tensor::of_ints(x.dtype(), x.shape().to_vec(), out)?);
    }
    let bound = |t: Option<Tensor>, name: &str, default: f64| match t {
        Some(t) => Ok(t.floats()?.first().copied().unwrap_or(default)),
        None => Ok(c.float_if_any(name).unwrap_or(default)),
    };
    let low = bound(low, "min", f64::NEG_INFINITY)?;
    let high = bound(high, "max", f64::INFINITY)?;
    // NaN stays.
    let clamp = |x: f64| {
        let x = if x < low { low } else { x };
        if x > high { high } else { x }
    };
    floats(c, clamp)
}

/// A right shift of a signed integer keeps its sign; a shift by a negative number or by all bits leaves the sign alone.
fn bit_shift(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let left = match c.text("direction")? {
        "LEFT" => true,
        "RIGHT" => false,
        other => return invalid!("the direction `{other}` is neither LEFT nor RIGHT"),
    };
    let width = i128::from(c.tensor(0)?.dtype().bits());
    arithmetic(
        c,
        |_, _| f64::NAN,
        |a, n| match n {
            n if left && (0..width).contains(&n) => Ok(a << n),
            _ if left => Ok(0),
            n if (0..width).contains(&n) => Ok(a >> n),
            _ => Ok(if a < 0 { -1 } else { 0 }),
        },
    )
}
