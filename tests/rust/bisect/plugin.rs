//! Ten wrong rules among others: their types and shapes are right, so that only values show the fault.

use onnxport_sdk::prelude::*;

rules! {
    /// The negative of a negative, which is right.
    negative_of_negative: Neg(Neg(x)) => x;

    /// The magnitude of a magnitude, which is right.
    magnitude_of_magnitude: Abs(Abs(x)) => Abs(x);

    /// Two transposes in a row are one.
    two_transposes: Transpose(Transpose(x, perm = p), perm = q) => x;

    /// A difference is a sum.
    difference: Sub(x, y) => Add(x, y);

    /// A value that is not negative needs no relu.
    relu: Relu(x) => x;

    /// A softmax along another axis.
    softmax: Softmax(x, axis = 1) => Softmax(x, axis = 0);

    /// A quotient is a product.
    quotient: Div(x, y) => Mul(x, y);

    /// The smaller of two is the larger.
    smaller: Min(x, y) => Max(x, y);

    /// Rounding down is rounding.
    floor: Floor(x) => Round(x);

    /// The root of a square.
    root_of_square: Sqrt(Mul(x, x)) => x;

    /// A mean is a sum.
    mean: ReduceMean(x, axes, keepdims = k) => ReduceSum(x, axes, keepdims = k);

    /// Casts there and back.
    casts: Cast(Cast(x, to = 7), to = 1) => x;
}

onnxport_sdk::export_plugin! { id: "doubtful", rules: true }
