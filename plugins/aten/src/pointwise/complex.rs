//! Arithmetic of complex tensors, which are pairs of reals in a last axis.

use onnxport_sdk::prelude::*;

use super::unary::atan2_of;
use crate::support::full;

/// An operand of a complex call.
#[derive(Clone, Copy)]
enum Part {
    /// Pairs in a last axis.
    Pair(Value),
    /// Real numbers, with a last axis of extent 1.
    Real(Value),
}

/// The type of the parts of a complex type.
fn part_type(dtype: DType) -> DType {
    match dtype {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        other => other,
    }
}

/// The argument called `name` with parts of `dtype`.
fn part(cx: &Lower, name: &str, dtype: DType) -> Res<Part> {
    let arg: Arg = cx.argument(name)?;
    if arg.is_complex() {
        let value: Value = cx.argument(name)?;
        return Ok(Part::Pair(cx.cast(value, dtype)));
    }
    match cx.argument::<Operand>(name)? {
        Operand::Tensor(value) => Ok(Part::Real(cx.unsqueeze(cx.cast(value, dtype), &[-1]))),
        Operand::Number(Scalar::Complex(re, im)) => Ok(Part::Pair(cx.numbers(&[re, im], dtype))),
        Operand::Number(number) => Ok(Part::Real(cx.number(&number, dtype))),
    }
}

/// An operand as pairs: a real one gets the imaginary part 0.
fn pair(cx: &Lower, part: Part, dtype: DType) -> Value {
    match part {
        Part::Pair(value) => value,
        Part::Real(value) => value * cx.numbers(&[1.0, 0.0], dtype),
    }
}

/// The real and the imaginary part, each with a last axis of extent 1.
fn parts(cx: &Lower, x: Value) -> [Value; 2] {
    cx.op(op::Split).input(x).axis(-1).num_outputs(2).outs::<2>()
}

/// The conjugates of pairs.
fn conjugate(cx: &Lower, x: Value, dtype: DType) -> Value {
    x * cx.numbers(&[1.0, -1.0], dtype)
}

/// `(a + bi)(c + di)` as `[a, b] * c + [-b, a] * d`.
fn product(cx: &Lower, x: Value, y: Value, dtype: DType) -> Value {
    let [re, im] = parts(cx, y);
    x * re + cx.gather(x, cx.ints(&[1, 0]), -1) * cx.numbers(&[-1.0, 1.0], dtype) * im
}

/// The product of two operands.
fn times(cx: &Lower, a: Part, b: Part, dtype: DType) -> Value {
    match (a, b) {
        (Part::Pair(a), Part::Pair(b)) => product(cx, a, b, dtype),
        (a, Part::Real(b)) | (Part::Real(b), a) => pair(cx, a, dtype) * b,
    }
}

/// Both operands, the second one times `alpha`, as pairs.
fn summands(cx: &Lower, [a, b]: [&str; 2], alpha: &Scalar) -> Res<(Value, Value)> {
    let dtype = part_type(cx.result(0)?.dtype);
    let (a, mut b) = (part(cx, a, dtype)?, part(cx, b, dtype)?);
    if !alpha.is(1.0) {
        let alpha = match alpha {
            Scalar::Complex(re, im) => Part::Pair(cx.numbers(&[*re, *im], dtype)),
            real => Part::Real(cx.number(real, dtype)),
        };
        b = Part::Pair(times(cx, b, alpha, dtype));
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
    let dtype = part_type(cx.result(0)?.dtype);
    Ok(times(cx, part(cx, "a", dtype)?, part(cx, "b", dtype)?, dtype))
}

/// `|x|^2`, with a last axis of extent 1.
fn squared_size(cx: &Lower, x: Value) -> Value {
    cx.reduce(op::ReduceSumSquare, x, &[-1], true)
}

/// `self / other`: times the conjugate, divided by the squared size.
#[lowering("aten.div.Tensor", "aten.div.Scalar", complex)]
fn div(cx: &Lower) -> Res<Value> {
    let dtype = part_type(cx.result(0)?.dtype);
    let (a, b) = (part(cx, "a", dtype)?, part(cx, "b", dtype)?);
    match b {
        Part::Real(b) => Ok(pair(cx, a, dtype) / b),
        Part::Pair(b) => {
            let (conjugate, size) = (conjugate(cx, b, dtype), squared_size(cx, b));
            Ok(times(cx, a, Part::Pair(conjugate), dtype) / size)
        }
    }
}

/// `1 / x`.
#[lowering("aten.reciprocal.default", complex)]
fn reciprocal(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    Ok(conjugate(cx, x, dtype) / squared_size(cx, x))
}

/// `-x`.
#[lowering("aten.neg.default", complex)]
fn neg(_cx: &Lower, x: Value) -> Res<Value> {
    Ok(-x)
}

/// `x * x`.
#[lowering("aten.square.default", complex)]
fn square(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    Ok(product(cx, x, x, dtype))
}

/// `self ^ exponent` for small natural exponents.
#[lowering("aten.pow.Tensor_Scalar", complex)]
fn pow(cx: &Lower, x: Value, exponent: f64) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if exponent.fract() != 0.0 || !(1.0..=8.0).contains(&exponent) {
        return Err(Refusal::new("`exponent` of a complex power must be an integer from 1 to 8"));
    }
    let mut y = x;
    for _ in 1..exponent as i64 {
        y = product(cx, y, x, dtype);
    }
    Ok(y)
}

/// `sqrt(re^2 + im^2)`.
#[lowering("aten.abs.default", complex)]
fn abs(cx: &Lower, x: Value) -> Res<Value> {
    Ok(cx.reduce(op::ReduceL2, x, &[-1], false))
}

/// `x / |x|`, and 0 at 0.
#[lowering("aten.sgn.default", complex)]
fn sgn(cx: &Lower, x: Value) -> Res<Value> {
    let size = cx.reduce(op::ReduceL2, x, &[-1], true);
    let unit = x / size;
    Ok(cx.select(cx.equal(size, 0.0), 0.0, unit))
}

/// The angle of every number to the positive reals.
#[lowering("aten.angle.default", complex)]
fn angle(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let [re, im] = parts(cx, x);
    Ok(cx.squeeze(atan2_of(cx, im, re, dtype), &[-1]))
}

/// `exp(a) * (cos(b) + i sin(b))`.
#[lowering("aten.exp.default", complex)]
fn exp(cx: &Lower, x: Value) -> Res<Value> {
    let [re, im] = parts(cx, x);
    Ok(cx.exp(re) * cx.concat(&[cx.op(op::Cos).input(im).one(), cx.op(op::Sin).input(im).one()], -1))
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
    let (a, b) = (part(cx, "a", dtype)?, part(cx, "b", dtype)?);
    let (a, b) = (pair(cx, a, dtype), pair(cx, b, dtype));
    Ok(cx.cast(cx.reduce(op::ReduceMin, cx.cast(cx.equal(a, b), DType::I32), &[-1], false), DType::Bool))
}

/// Whether a part differs.
#[lowering("aten.ne.Tensor", "aten.ne.Scalar", complex)]
fn ne(cx: &Lower) -> Res<Value> {
    Ok(!eq(cx)?)
}

/// `self` where `condition`, else `other`.
#[lowering("aten.where.self", complex)]
fn choose(cx: &Lower, condition: Value) -> Res<Value> {
    let dtype = part_type(cx.result(0)?.dtype);
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
    let dtype = part_type(stated);
    let x: Value = cx.argument("this")?;
    if !stated.is_complex() {
        // Only the real part is left.
        return Ok(cx.cast(cx.gather(x, cx.int(0), -1), dtype));
    }
    Ok(pair(cx, part(cx, "this", dtype)?, dtype))
}

/// The logarithm of the size, and the angle.
#[lowering("aten.log.default", complex)]
fn log(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let [re, im] = parts(cx, x);
    Ok(cx.concat(&[cx.log(cx.reduce(op::ReduceL2, x, &[-1], true)), atan2_of(cx, im, re, dtype)], -1))
}

/// The root of the size, in the direction of half the angle.
#[lowering("aten.sqrt.default", complex)]
fn sqrt(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let [re, im] = parts(cx, x);
    let root = cx.sqrt(cx.reduce(op::ReduceL2, x, &[-1], true));
    let angle = atan2_of(cx, im, re, dtype) * 0.5;
    Ok(root * cx.concat(&[cx.op(op::Cos).input(angle).one(), cx.op(op::Sin).input(angle).one()], -1))
}

/// The stated shape filled with the complex number.
fn filled(cx: &Lower, number: &Scalar) -> Res<Value> {
    let result = cx.result(0)?;
    let dtype = part_type(result.dtype);
    let pair = match *number {
        Scalar::Complex(re, im) => [re, im],
        number => [number.as_f64().ok_or("`fill_value` is not a constant")?, 0.0],
    };
    if !result.dtype.is_complex() {
        return Ok(full(cx, &result.shape, &Scalar::Float(pair[0]), result.dtype));
    }
    Ok(cx.expand(cx.numbers(&pair, dtype), cx.dims_value(&result.real_shape())))
}

/// The stated shape filled with `fill_value`.
#[lowering("aten.full.default", "aten.full_like.default", "aten.new_full.default", complex)]
fn full_of(cx: &Lower, fill_value: Scalar) -> Res<Value> {
    filled(cx, &fill_value)
}

/// The stated shape filled with `value`.
#[lowering("aten.fill.Scalar", complex)]
fn fill(cx: &Lower, value: Scalar) -> Res<Value> {
    filled(cx, &value)
}

/// The stated shape filled with 0.
#[lowering(
    "aten.zeros.default",
    "aten.zeros_like.default",
    "aten.new_zeros.default",
    "aten.zero.default",
    "aten.empty.memory_format",
    "aten.empty_like.default",
    "aten.new_empty.default",
    complex
)]
fn zeros(cx: &Lower) -> Res<Value> {
    filled(cx, &Scalar::Int(0))
}

/// The stated shape filled with 1.
#[lowering("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default", complex)]
fn ones(cx: &Lower) -> Res<Value> {
    filled(cx, &Scalar::Int(1))
}

/// `src` in the type and shape of `self`.
#[lowering("aten.copy.default", complex)]
fn copy(cx: &Lower) -> Res<Value> {
    let result = cx.result(0)?;
    if !result.dtype.is_complex() {
        return Err("`src` is complex and `self` is not".into());
    }
    let dtype = part_type(result.dtype);
    let shape = result.real_shape();
    let source = pair(cx, part(cx, "src", dtype)?, dtype);
    if cx.shape(source).is_ok_and(|s| s == shape) {
        return Ok(source);
    }
    Ok(cx.expand(source, cx.dims_value(&shape)))
}
