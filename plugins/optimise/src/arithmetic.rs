//! Arithmetic that changes nothing, or that one operator does.

use onnxport_sdk::prelude::*;

use crate::rewriting::inner;
use crate::shapes::keeps_shape;

rules! {
    #![class = exact]

    /// A product with ones, where the shape stays.
    multiply_by_one: commutative Mul(x, 1) if keeps_shape(matched, x) => x;

    /// A quotient by ones, where the shape stays.
    divide_by_one: Div(x, 1) if keeps_shape(matched, x) => x;

    /// A sum of integers with zeros, if the shape stays. A sum of floats changes -0 to 0.
    add_zero: commutative Add(x, 0) if integers_of_one_shape(matched, x) => x;

    /// A sum of floats with zeros, where the shape stays: -0 stays, which would become 0.
    add_zero_float (class = bounded(ulps = 1)): commutative Add(x, 0) if floats_of_one_shape(matched, x) => x;

    /// A difference of integers and zeros, where the shape stays.
    subtract_zero: Sub(x, 0) if integers_of_one_shape(matched, x) => x;

    /// A power of exponent 1, where the shape stays.
    power_of_one: Pow(x, 1) if keeps_shape(matched, x) => x;

    /// The negative of a negative.
    negate_twice: Neg(Neg(x)) => x;

    /// A relu of a relu.
    relu_twice: Relu(Relu(x)) => Relu(x);

    /// A magnitude does not see a sign.
    magnitude_of_signed: Abs((Neg(x) | Abs(x))) => Abs(x);

    /// A sign of a sign.
    sign_twice: Sign(Sign(x)) => Sign(x);

    /// Rounding a rounded number.
    round_twice:
        let rounded = (Floor(_x) | Ceil(_x) | Round(_x));
        (Floor(rounded) | Ceil(rounded) | Round(rounded)) => inner_value(cx);

    /// A sum with a negative is a difference.
    add_negative: Add(x, Neg(y)) => Sub(x, y);

    /// A difference to a negative is a sum.
    subtract_negative: Sub(x, Neg(y)) => Add(x, y);

    /// A product of negatives.
    multiply_negatives: Mul(Neg(x), Neg(y)) => Mul(x, y);

    /// A quotient of negatives; that of integers may overflow.
    divide_negatives: Div(Neg(x), Neg(y)) if floats(x) => Div(x, y);

    /// The negative of a difference of integers; of floats, it is another zero.
    negate_difference: Neg(Sub(x, y)) if integers(x) => Sub(y, x);

    /// Two integers that are added one after the other are added at once.
    add_twice: Add(Add(x, const a), const b) if integers(x) => Add(x, Add(a, b));

    /// Two integers that multiply one after the other multiply at once.
    multiply_twice: Mul(Mul(x, const a), const b) if integers(x) => Mul(x, Mul(a, b));

    /// Two numbers that multiply floats one after the other multiply at once.
    multiply_twice_float (class = bounded(ulps = 4)):
        Mul(Mul(x, const a), const b) if are_usual(matched, x, [a, b]) => Mul(x, Mul(a, b));

    /// The largest, the smallest or the sum of one tensor.
    one_operand: (Max(x) | Min(x) | Sum(x) | Mean(x)) => x;

    /// The larger or the smaller of equals.
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
