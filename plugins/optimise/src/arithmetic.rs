//! Arithmetic that changes nothing.

use onnxport_sdk::prelude::*;

use crate::shapes::keeps_shape;

rules! {
    #![class = exact]

    /// A product with ones, where the shape stays.
    multiply_by_one: commutative Mul(x, 1) if keeps_shape(matched, x) => x;

    /// A quotient by ones, where the shape stays.
    divide_by_one: Div(x, 1) if keeps_shape(matched, x) => x;

    /// A sum of integers with zeros, where the shape stays. That of floats turns -0 into 0.
    add_zero: commutative Add(x, 0) if integers_of_one_shape(matched, x) => x;

    /// A difference of integers and zeros, where the shape stays.
    subtract_zero: Sub(x, 0) if integers_of_one_shape(matched, x) => x;

    /// The negative of a negative.
    negate_twice: Neg(Neg(x)) => x;

    /// The opposite of an opposite.
    not_twice: Not(Not(x)) => x;

    /// A relu of a relu.
    relu_twice: Relu(Relu(x)) => Relu(x);
}

fn integers_of_one_shape(matched: &Matched<'_>, x: ValueRef<'_>) -> Res<()> {
    if !x.dtype().is_some_and(DType::is_int) {
        return Err("the operand is not of integers".into());
    }
    keeps_shape(matched, x)
}
