//! Arithmetic of complex tensors and reals.

use onnxport_sdk::prelude::*;

use super::Complex;

/// An operand of a complex call.
#[derive(Clone, Copy)]
pub(super) enum Part {
    /// Pairs in a last axis.
    Pair(Value),
    /// Real numbers, with a last axis of size 1.
    Real(Value),
}

/// The argument called `name` with parts of `dtype`.
pub(super) fn part(cx: &Lower, name: &str, dtype: DType) -> Res<Part> {
    let arg: Arg = cx.argument(name)?;
    if arg.is_complex() {
        let value: Value = cx.argument(name)?;
        return Ok(Part::Pair(cx.cast(value, dtype)));
    }
    match cx.argument::<Operand>(name)? {
        Operand::Tensor(value) => Ok(Part::Real(cx.unsqueeze(cx.cast(value, dtype), &[-1]))),
        Operand::Number(number) => Ok(scalar(cx, &number, dtype)),
    }
}

/// A number with parts of `dtype`.
fn scalar(cx: &Lower, number: &Scalar, dtype: DType) -> Part {
    match number {
        Scalar::Complex(re, im) => Part::Pair(cx.numbers(&[*re, *im], dtype)),
        number => Part::Real(cx.number(number, dtype)),
    }
}

/// An operand as pairs: a real one gets the imaginary part 0.
pub(super) fn pair(cx: &Lower, part: Part, dtype: DType) -> Value {
    match part {
        Part::Pair(value) => value,
        Part::Real(value) => with_zeros(cx, value, dtype),
    }
}

/// `[…, 1]` and zeros as `[…, 2]`. A product with 0 would be NaN for infinities.
pub(crate) fn with_zeros(cx: &Lower, x: Value, dtype: DType) -> Value {
    match cx.rank(x) {
        Ok(rank @ 1..) => {
            let mut pads = vec![0; 2 * rank];
            if let Some(last) = pads.last_mut() {
                *last = 1;
            }
            cx.op(op::Pad).input(x).input(cx.ints(&pads)).one()
        }
        _ => x * cx.numbers(&[1.0, 0.0], dtype),
    }
}

/// The argument called `name` as complex numbers with parts of `dtype`.
pub(super) fn operand(cx: &Lower, name: &str, dtype: DType) -> Res<Complex> {
    Ok(Complex::of(cx, pair(cx, part(cx, name, dtype)?, dtype)))
}

/// The product of two operands.
fn times(cx: &Lower, a: Part, b: Part, dtype: DType) -> Value {
    match (a, b) {
        (Part::Pair(a), Part::Pair(b)) => (Complex::of(cx, a) * Complex::of(cx, b)).pairs(cx),
        (a, Part::Real(b)) | (Part::Real(b), a) => pair(cx, a, dtype) * b,
    }
}

/// `self` times a power of two.
#[lowering("aten.ldexp.Tensor", complex)]
fn ldexp(cx: &Lower) -> Res<Value> {
    let dtype = cx.result(0)?.dtype.real();
    let x = pair(cx, part(cx, "a", dtype)?, dtype);
    Ok(match part(cx, "b", dtype)? {
        Part::Real(n) => x * cx.pow(2.0, n),
        Part::Pair(z) => {
            let power = Complex::of(cx, z).scaled(std::f64::consts::LN_2).exp(cx);
            (Complex::of(cx, x) * power).pairs(cx)
        }
    })
}

/// Both operands, the second one times `alpha`, as pairs.
fn summands(cx: &Lower, [a, b]: [&str; 2], alpha: &Scalar) -> Res<(Value, Value)> {
    let dtype = cx.result(0)?.dtype.real();
    let (a, mut b) = (part(cx, a, dtype)?, part(cx, b, dtype)?);
    if !alpha.is(1.0) {
        b = Part::Pair(times(cx, b, scalar(cx, alpha, dtype), dtype));
    }
    Ok((pair(cx, a, dtype), pair(cx, b, dtype)))
}

/// `self + alpha * other`.
#[lowering("aten.add.Tensor", "aten.add.Scalar", complex)]
fn add(cx: &Lower, alpha: Scalar) -> Res<Value> {
    let (a, b) = summands(cx, ["a", "b"], &alpha)?;
    Ok(a + b)
}

/// `self - alpha * other`.
#[lowering("aten.sub.Tensor", "aten.sub.Scalar", complex)]
fn sub(cx: &Lower, alpha: Scalar) -> Res<Value> {
    let (a, b) = summands(cx, ["a", "b"], &alpha)?;
    Ok(a - b)
}

/// `other - alpha * self`.
#[lowering("aten.rsub.Tensor", "aten.rsub.Scalar", complex)]
fn rsub(cx: &Lower, alpha: Scalar) -> Res<Value> {
    let (b, a) = summands(cx, ["b", "a"], &alpha)?;
    Ok(b - a)
}

/// `self * other`.
#[lowering("aten.mul.Tensor", "aten.mul.Scalar", complex)]
fn mul(cx: &Lower) -> Res<Value> {
    let dtype = cx.result(0)?.dtype.real();
    Ok(times(cx, part(cx, "a", dtype)?, part(cx, "b", dtype)?, dtype))
}

/// `self / other`.
#[lowering("aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor", complex)]
fn div(cx: &Lower) -> Res<Value> {
    let dtype = cx.result(0)?.dtype.real();
    let (a, b) = (pair(cx, part(cx, "a", dtype)?, dtype), part(cx, "b", dtype)?);
    Ok(match b {
        Part::Real(b) => a / b,
        Part::Pair(b) => Complex::of(cx, a).over(cx, Complex::of(cx, b)).pairs(cx),
    })
}

/// `1 / x`.
#[lowering("aten.reciprocal.default", complex)]
fn reciprocal(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let one = Complex::of(cx, cx.numbers(&[1.0, 0.0], dtype));
    Ok(one.over(cx, Complex::of(cx, x)).pairs(cx))
}

/// `-x`.
#[lowering("aten.neg.default", complex)]
fn neg(_cx: &Lower, x: Value) -> Res<Value> {
    Ok(-x)
}

/// `x * x`.
#[lowering("aten.square.default", complex)]
fn square(cx: &Lower, x: Value) -> Res<Value> {
    let x = Complex::of(cx, x);
    Ok((x * x).pairs(cx))
}

/// Powers with small natural exponents are products.
const PRODUCTS: std::ops::RangeInclusive<f64> = 1.0..=8.0;

/// `self ^ exponent`: `e ^ (exponent * log(self))`, and 0 of 0 where the real part of the exponent is positive.
#[lowering("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", "aten.pow.Scalar", complex)]
fn pow(cx: &Lower) -> Res<Value> {
    let dtype = cx.result(0)?.dtype.real();
    let base = operand(cx, "a", dtype)?;
    let natural = match cx.argument("b")? {
        Operand::Number(number) => number.as_f64().filter(|n| n.fract() == 0.0 && PRODUCTS.contains(n)),
        Operand::Tensor(_) => None,
    };
    if let Some(exponent) = natural {
        return Ok((1..exponent as i64).fold(base, |power, _| power * base).pairs(cx));
    }
    let exponent = operand(cx, "b", dtype)?;
    let power = (exponent * base.log(cx)?).exp(cx);
    let vanishes = cx.equal(base.re, 0.0) & cx.equal(base.im, 0.0) & cx.greater(exponent.re, 0.0);
    Ok(cx.select(vanishes, 0.0, power.pairs(cx)))
}

/// Whether both parts are equal.
#[lowering("aten.eq.Tensor", "aten.eq.Scalar", complex)]
fn eq(cx: &Lower) -> Res<Value> {
    let mut dtype = DType::F32;
    for name in ["a", "b"] {
        let arg: Arg = cx.argument(name)?;
        if arg.is_complex() {
            let value: Value = cx.argument(name)?;
            dtype = cx.dtype(value)?;
        }
    }
    let (a, b) = (operand(cx, "a", dtype)?, operand(cx, "b", dtype)?);
    Ok(cx.squeeze(cx.equal(a.re, b.re) & cx.equal(a.im, b.im), &[-1]))
}

/// Whether a part differs.
#[lowering("aten.ne.Tensor", "aten.ne.Scalar", complex)]
fn ne(cx: &Lower) -> Res<Value> {
    Ok(!eq(cx)?)
}

/// `self` where `condition`, else `other`.
#[lowering("aten.where.self", complex)]
fn choose(cx: &Lower, condition: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype.real();
    let (a, b) = (part(cx, "self", dtype)?, part(cx, "other", dtype)?);
    let (a, b) = (pair(cx, a, dtype), pair(cx, b, dtype));
    Ok(cx.select(cx.unsqueeze(condition, &[-1]), a, b))
}

/// `self` in another complex type, or a real tensor as complex numbers.
#[lowering(
    "aten.to.dtype",
    "aten.to.device",
    "aten.to.dtype_layout",
    "aten.to.other",
    "aten._to_copy.default",
    "aten.type_as.default",
    "aten.lift_fresh_copy.default",
    complex
)]
fn to(cx: &Lower) -> Res<Value> {
    let stated = cx.result(0)?.dtype;
    let dtype = stated.real();
    let x: Value = cx.argument("this")?;
    if !stated.is_complex() {
        // Only the real part is left.
        return Ok(cx.cast(cx.gather(x, cx.int(0), -1), dtype));
    }
    Ok(pair(cx, part(cx, "this", dtype)?, dtype))
}

/// `src` in the type and shape of `self`.
#[lowering("aten.copy.default", complex)]
fn copy(cx: &Lower) -> Res<Value> {
    let result = cx.result(0)?;
    if !result.dtype.is_complex() {
        return Err("`src` is complex and `self` is not".into());
    }
    let dtype = result.dtype.real();
    let shape = result.real_shape();
    let source = pair(cx, part(cx, "src", dtype)?, dtype);
    if cx.shape(source).is_ok_and(|s| s == shape) {
        return Ok(source);
    }
    Ok(cx.expand(source, cx.dims_value(&shape)))
}
