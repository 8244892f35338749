//! Arithmetic that changes nothing, or that one operator does.

use onnxport_sdk::prelude::*;

use crate::rewriting::inner;
use crate::shapes::keeps_shape;

rules! {
    #![class = exact]

    /// Removes a multiplication by ones that keeps the shape.
    multiply_by_one: commutative Mul(x, 1) if keeps_shape(matched, x) => x;

    /// Removes a division by ones that keeps the shape.
    divide_by_one: Div(x, 1) if keeps_shape(matched, x) => x;

    /// Removes an addition of zeros to integers that keeps the shape. For floats it would keep -0, which the addition
    /// changes to 0.
    add_zero: commutative Add(x, 0) if integers_of_one_shape(matched, x) => x;

    /// Removes an addition of zeros to floats that keeps the shape. The addition would change -0 to 0.
    add_zero_float (class = bounded(ulps = 1)): commutative Add(x, 0) if floats_of_one_shape(matched, x) => x;

    /// Removes a subtraction of zeros from integers that keeps the shape.
    subtract_zero: Sub(x, 0) if integers_of_one_shape(matched, x) => x;

    /// Removes a power with exponent 1 that keeps the shape.
    power_of_one: Pow(x, 1) if keeps_shape(matched, x) => x;

    /// Removes two consecutive negations.
    negate_twice: Neg(Neg(x)) => x;

    /// Removes the second of two consecutive `Relu`s.
    relu_twice: Relu(Relu(x)) => Relu(x);

    /// Removes a negation or an absolute value before an absolute value.
    abs_of_signed: Abs((Neg(x) | Abs(x))) => Abs(x);

    /// Removes the second of two consecutive `Sign`s.
    sign_twice: Sign(Sign(x)) => Sign(x);

    /// Removes a rounding of a rounded value.
    round_twice:
        let rounded = (Floor(_x) | Ceil(_x) | Round(_x));
        (Floor(rounded) | Ceil(rounded) | Round(rounded)) => inner_value(cx);

    /// Replaces the addition of a negated value by a subtraction.
    add_negative: Add(x, Neg(y)) => Sub(x, y);

    /// Replaces the subtraction of a negated value by an addition.
    subtract_negative: Sub(x, Neg(y)) => Add(x, y);

    /// Removes the negations of both factors of a product.
    multiply_negatives: Mul(Neg(x), Neg(y)) => Mul(x, y);

    /// Removes the negations of both operands of a quotient of floats. For integers the quotient may overflow.
    divide_negatives: Div(Neg(x), Neg(y)) if floats(x) => Div(x, y);

    /// Replaces a negated difference of integers by the reverse difference. For floats the sign of zero would differ.
    negate_difference: Neg(Sub(x, y)) if integers(x) => Sub(y, x);

    /// Merges two consecutive additions of constants to integers.
    add_twice: Add(Add(x, const a), const b) if integers(x) => Add(x, Add(a, b));

    /// Merges two consecutive multiplications of integers by constants.
    multiply_twice: Mul(Mul(x, const a), const b) if integers(x) => Mul(x, Mul(a, b));

    /// Merges two consecutive multiplications of floats by constants.
    multiply_twice_float (class = bounded(ulps = 4)):
        Mul(Mul(x, const a), const b) if are_usual(matched, x, [a, b]) => Mul(x, Mul(a, b));

    /// Removes `Max`, `Min`, `Sum` and `Mean` with a single operand.
    one_operand: (Max(x) | Min(x) | Sum(x) | Mean(x)) => x;

    /// Removes `Max` and `Min` of equal operands.
    extreme_of_equals: (Max(x, x) | Min(x, x)) => x;
}

/// Whether `x` holds floats.
fn floats(x: ValueRef<'_>) -> Res<()> {
    match x.dtype() {
        Some(dtype) if dtype.is_float() => Ok(()),
        _ => Err("the operand is not of floats".into()),
    }
}

/// Whether `x` is of floats, both numbers are of usual magnitudes, and nobody reads the product to round it.
fn are_usual(matched: &Matched<'_>, x: ValueRef<'_>, numbers: [ValueRef<'_>; 2]) -> Res<()> {
    if !matches!(x.dtype(), Some(DType::F32 | DType::F64)) {
        return Err("the operand is neither of f32 nor of f64".into());
    }
    for number in numbers {
        let elements = number.constant().and_then(|literal| literal.floats());
        match elements.as_deref() {
            Some([number]) if (1e-9..1e9).contains(&number.abs()) => {}
            _ => return Err("it is not one number of usual magnitude".into()),
        }
    }
    let product = matched.root().output(0).ok_or("it makes nothing")?;
    if product.uses().iter().any(|(reader, _)| reader.traits().has(Traits::DISCONTINUOUS)) {
        return Err("the product is rounded or compared, which may go the other way".into());
    }
    Ok(())
}

/// Whether `x` holds integers.
fn integers(x: ValueRef<'_>) -> Res<()> {
    match x.dtype() {
        Some(dtype) if dtype.is_int() => Ok(()),
        _ => Err("the operand is not of integers".into()),
    }
}

fn floats_of_one_shape(matched: &Matched<'_>, x: ValueRef<'_>) -> Res<()> {
    floats(x)?;
    keeps_shape(matched, x)
}

fn integers_of_one_shape(matched: &Matched<'_>, x: ValueRef<'_>) -> Res<()> {
    integers(x)?;
    keeps_shape(matched, x)
}

/// The result of the inner node.
fn inner_value<'h>(cx: &Rewrite<'h>) -> Res<ValueRef<'h>> {
    Ok(inner(cx.matched())?.output(0).ok_or("it makes nothing")?)
}
