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
fn part(cx: &mut Lower, name: &str, dtype: DType) -> Res<Part> {
    let arg: Arg = cx.argument(name)?;
    if arg.is_complex() {
        let value: Value = cx.argument(name)?;
        return Ok(Part::Pair(cx.cast(value, dtype)));
    }
    match cx.argument::<Operand>(name)? {
        Operand::Tensor(value) => {
            let value = cx.cast(value, dtype);
            Ok(Part::Real(cx.unsqueeze(value, &[-1])))
        }
        Operand::Number(Scalar::Complex(re, im)) => Ok(Part::Pair(cx.numbers(&[re, im], dtype))),
        Operand::Number(number) => Ok(Part::Real(cx.number(&number, dtype))),
    }
}

/// An operand as pairs: a real one gets the imaginary part 0.
fn pair(cx: &mut Lower, part: Part, dtype: DType) -> Value {
    match part {
        Part::Pair(value) => value,
        Part::Real(value) => {
            let unit = cx.numbers(&[1.0, 0.0], dtype);
            cx.mul(value, unit)
        }
    }
}

/// The real and the imaginary part, each with a last axis of extent 1.
fn parts(cx: &mut Lower, x: Value) -> [Value; 2] {
    cx.op("Split").input(x).int("axis", -1).int("num_outputs", 2).outs::<2>()
}

/// The conjugates of pairs.
fn conjugate(cx: &mut Lower, x: Value, dtype: DType) -> Value {
    let signs = cx.numbers(&[1.0, -1.0], dtype);
    cx.mul(x, signs)
}

/// `(a + bi)(c + di)` as `[a, b] * c + [-b, a] * d`.
fn product(cx: &mut Lower, x: Value, y: Value, dtype: DType) -> Value {
    let [re, im] = parts(cx, y);
    let straight = cx.mul(x, re);
    let (swap, signs) = (cx.ints(&[1, 0]), cx.numbers(&[-1.0, 1.0], dtype));
    let turned = cx.gather(x, swap, -1);
    let turned = cx.mul(turned, signs);
    let turned = cx.mul(turned, im);
    cx.add(straight, turned)
}

/// The product of two operands.
fn times(cx: &mut Lower, a: Part, b: Part, dtype: DType) -> Value {
    match (a, b) {
        (Part::Pair(a), Part::Pair(b)) => product(cx, a, b, dtype),
        (a, Part::Real(b)) | (Part::Real(b), a) => {
            let a = pair(cx, a, dtype);
            cx.mul(a, b)
        }
    }
}

/// Both operands, the second one times `alpha`, as pairs.
fn summands(cx: &mut Lower, [a, b]: [&str; 2], alpha: &Scalar) -> Res<(Value, Value)> {
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
fn add(cx: &mut Lower, alpha: Scalar) -> Res<Value> {
    let (a, b) = summands(cx, ["a", "b"], &alpha)?;
    Ok(cx.add(a, b))
}

/// `self - alpha * other`.
#[lowering("aten.sub.Tensor", "aten.sub.Scalar", complex)]
fn sub(cx: &mut Lower, alpha: Scalar) -> Res<Value> {
    let (a, b) = summands(cx, ["a", "b"], &alpha)?;
    Ok(cx.sub(a, b))
}

/// `other - alpha * self`.
#[lowering("aten.rsub.Tensor", "aten.rsub.Scalar", complex)]
fn rsub(cx: &mut Lower, alpha: Scalar) -> Res<Value> {
    let (b, a) = summands(cx, ["b", "a"], &alpha)?;
    Ok(cx.sub(b, a))
}

/// `self * other`.
#[lowering("aten.mul.Tensor", "aten.mul.Scalar", complex)]
fn mul(cx: &mut Lower) -> Res<Value> {
    let dtype = part_type(cx.result(0)?.dtype);
    let (a, b) = (part(cx, "a", dtype)?, part(cx, "b", dtype)?);
    Ok(times(cx, a, b, dtype))
}

/// `|x|^2`, with a last axis of extent 1.
fn squared_size(cx: &mut Lower, x: Value) -> Value {
    cx.reduce("ReduceSumSquare", x, &[-1], true)
}

/// `self / other`: times the conjugate, divided by the squared size.
#[lowering("aten.div.Tensor", "aten.div.Scalar", complex)]
fn div(cx: &mut Lower) -> Res<Value> {
    let dtype = part_type(cx.result(0)?.dtype);
    let (a, b) = (part(cx, "a", dtype)?, part(cx, "b", dtype)?);
    match b {
        Part::Real(b) => {
            let a = pair(cx, a, dtype);
            Ok(cx.div(a, b))
        }
        Part::Pair(b) => {
            let (conjugate, size) = (conjugate(cx, b, dtype), squared_size(cx, b));
            let product = times(cx, a, Part::Pair(conjugate), dtype);
            Ok(cx.div(product, size))
        }
    }
}

/// `1 / x`.
#[lowering("aten.reciprocal.default", complex)]
fn reciprocal(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let (conjugate, size) = (conjugate(cx, x, dtype), squared_size(cx, x));
    Ok(cx.div(conjugate, size))
}

/// `-x`.
#[lowering("aten.neg.default", complex)]
fn neg(cx: &mut Lower, x: Value) -> Res<Value> {
    Ok(cx.neg(x))
}

/// `x * x`.
#[lowering("aten.square.default", complex)]
fn square(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    Ok(product(cx, x, x, dtype))
}

/// `self ^ exponent` for small natural exponents.
#[lowering("aten.pow.Tensor_Scalar", complex)]
fn pow(cx: &mut Lower, x: Value, exponent: f64) -> Res<Value> {
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
fn abs(cx: &mut Lower, x: Value) -> Res<Value> {
    Ok(cx.reduce("ReduceL2", x, &[-1], false))
}

/// `x / |x|`, and 0 at 0.
#[lowering("aten.sgn.default", complex)]
fn sgn(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let (size, zero) = (cx.reduce("ReduceL2", x, &[-1], true), cx.float(0.0, dtype));
    let (unit, at_zero) = (cx.div(x, size), cx.equal(size, zero));
    Ok(cx.select(at_zero, zero, unit))
}

/// The angle of every number to the positive reals.
#[lowering("aten.angle.default", complex)]
fn angle(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let [re, im] = parts(cx, x);
    let angle = atan2_of(cx, im, re, dtype);
    Ok(cx.squeeze(angle, &[-1]))
}

/// `exp(a) * (cos(b) + i sin(b))`.
#[lowering("aten.exp.default", complex)]
fn exp(cx: &mut Lower, x: Value) -> Res<Value> {
    let [re, im] = parts(cx, x);
    let (size, cos, sin) = (cx.exp(re), cx.op("Cos").input(im).one(), cx.op("Sin").input(im).one());
    let direction = cx.concat(&[cos, sin], -1);
    Ok(cx.mul(size, direction))
}

/// Whether both parts are equal.
#[lowering("aten.eq.Tensor", "aten.eq.Scalar", complex)]
fn eq(cx: &mut Lower) -> Res<Value> {
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
    let equal = cx.equal(a, b);
    let count = cx.cast(equal, DType::I32);
    let both = cx.reduce("ReduceMin", count, &[-1], false);
    Ok(cx.cast(both, DType::Bool))
}

/// Whether a part differs.
#[lowering("aten.ne.Tensor", "aten.ne.Scalar", complex)]
fn ne(cx: &mut Lower) -> Res<Value> {
    let equal = eq(cx)?;
    Ok(cx.not(equal))
}

/// `self` where `condition`, else `other`.
#[lowering("aten.where.self", complex)]
fn choose(cx: &mut Lower, condition: Value) -> Res<Value> {
    let dtype = part_type(cx.result(0)?.dtype);
    let (a, b) = (part(cx, "self", dtype)?, part(cx, "other", dtype)?);
    let (a, b) = (pair(cx, a, dtype), pair(cx, b, dtype));
    let condition = cx.unsqueeze(condition, &[-1]);
    Ok(cx.select(condition, a, b))
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
fn to(cx: &mut Lower) -> Res<Value> {
    let stated = cx.result(0)?.dtype;
    let dtype = part_type(stated);
    let x: Value = cx.argument("this")?;
    if !stated.is_complex() {
        // Only the real part is left.
        let zero = cx.int(0);
        let real = cx.gather(x, zero, -1);
        return Ok(cx.cast(real, dtype));
    }
    let x = part(cx, "this", dtype)?;
    Ok(pair(cx, x, dtype))
}

/// The logarithm of the size, and the angle.
#[lowering("aten.log.default", complex)]
fn log(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let [re, im] = parts(cx, x);
    let size = cx.reduce("ReduceL2", x, &[-1], true);
    let (log, angle) = (cx.log(size), atan2_of(cx, im, re, dtype));
    Ok(cx.concat(&[log, angle], -1))
}

/// The root of the size, in the direction of half the angle.
#[lowering("aten.sqrt.default", complex)]
fn sqrt(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let [re, im] = parts(cx, x);
    let size = cx.reduce("ReduceL2", x, &[-1], true);
    let (root, angle, half) = (cx.sqrt(size), atan2_of(cx, im, re, dtype), cx.float(0.5, dtype));
    let angle = cx.mul(angle, half);
    let (cos, sin) = (cx.op("Cos").input(angle).one(), cx.op("Sin").input(angle).one());
    let direction = cx.concat(&[cos, sin], -1);
    Ok(cx.mul(root, direction))
}

/// The stated shape filled with the complex number.
fn filled(cx: &mut Lower, number: &Scalar) -> Res<Value> {
    let result = cx.result(0)?;
    let dtype = part_type(result.dtype);
    let pair = match *number {
        Scalar::Complex(re, im) => [re, im],
        number => [number.as_f64().ok_or("`fill_value` is not a constant")?, 0.0],
    };
    if !result.dtype.is_complex() {
        return Ok(full(cx, &result.shape, &Scalar::Float(pair[0]), result.dtype));
    }
    let (pair, shape) = (cx.numbers(&pair, dtype), cx.dims_value(&result.real_shape()));
    Ok(cx.expand(pair, shape))
}

/// The stated shape filled with `fill_value`.
#[lowering("aten.full.default", "aten.full_like.default", "aten.new_full.default", complex)]
fn full_of(cx: &mut Lower, fill_value: Scalar) -> Res<Value> {
    filled(cx, &fill_value)
}

/// The stated shape filled with `value`.
#[lowering("aten.fill.Scalar", complex)]
fn fill(cx: &mut Lower, value: Scalar) -> Res<Value> {
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
fn zeros(cx: &mut Lower) -> Res<Value> {
    filled(cx, &Scalar::Int(0))
}

/// The stated shape filled with 1.
#[lowering("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default", complex)]
fn ones(cx: &mut Lower) -> Res<Value> {
    filled(cx, &Scalar::Int(1))
}

/// `src` in the type and shape of `self`.
#[lowering("aten.copy.default", complex)]
fn copy(cx: &mut Lower) -> Res<Value> {
    let result = cx.result(0)?;
    if !result.dtype.is_complex() {
        return Err("`src` is complex and `self` is not".into());
    }
    let dtype = part_type(result.dtype);
    let (source, shape) = (part(cx, "src", dtype)?, result.real_shape());
    let source = pair(cx, source, dtype);
    if cx.shape(source).is_ok_and(|s| s == shape) {
        return Ok(source);
    }
    let shape = cx.dims_value(&shape);
    Ok(cx.expand(source, shape))
}
