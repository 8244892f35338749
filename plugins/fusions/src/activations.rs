//! Activations: ONNX's own, from the opset that brought them.

use onnxport_sdk::prelude::*;

use crate::is_float;

rules! {
    /// Fuses `x * (1 + erf(x / √2)) / 2` into a `Gelu`.
    gelu (class = bounded(relative = 1e-6, ulps = 4), opset = 20..):
        let erf = Erf((Div(x, 1.4142135623730951 ~ 1e-6) | Mul(x, 0.7071067811865476 ~ 1e-6)));
        let whole = Add(erf, 1);
        (
            Mul(Mul(x, 0.5), whole) | Mul(Mul(x, whole), 0.5) | Mul(x, Mul(whole, 0.5))
            | Div(Mul(x, whole), 2) | Mul(x, Div(whole, 2)) | Mul(Div(x, 2), whole)
        )
        if is_float(x, 20)
        => Gelu(x);

    /// Fuses `x * (1 + tanh(√(2/π) * (x + 0.044715 * x³))) / 2` into a `Gelu` with the `tanh` approximation. The cubic
    /// is recognized in several forms.
    gelu_tanh (class = bounded(relative = 1e-6, ulps = 4), opset = 20..):
        let square = (Mul(x, x) | Pow(x, 2));
        let cube = (Mul(square, x) | Pow(x, 3));
        let sum = (
            Add(x, Mul(cube, 0.044715 ~ 1e-6))
            | Mul(x, Add((Mul(square, 0.044715 ~ 1e-6) | Mul(Mul(x, 0.044715 ~ 1e-6), x)), 1))
        );
        let inner = (
            Mul(sum, 0.7978845608028654 ~ 1e-6)
            | Mul(x, Add(Mul(square, 0.035677408136300125 ~ 1e-7), 0.7978845608028654 ~ 1e-6))
            | Mul(
                Mul(x, 0.7978845608028654 ~ 1e-6),
                Add((Mul(square, 0.044715 ~ 1e-6) | Mul(Mul(x, 0.044715 ~ 1e-6), x)), 1)
            )
        );
        let whole = Add(Tanh(inner), 1);
        (Mul(Mul(x, 0.5), whole) | Mul(Mul(x, whole), 0.5) | Mul(x, Mul(whole, 0.5)))
        if is_float(x, 20)
        => Gelu(x, approximate = "tanh");

    /// Fuses `x * clip(x + 3, 0, 6) / 6` into a `HardSwish`.
    hard_swish (class = bounded(relative = 1e-6, ulps = 4), opset = 14..):
        let six = Clip(Add(x, 3), 0, 6);
        (Mul(x, HardSigmoid(x, alpha = 0.16666667 ~ 1e-6, beta = 0.5)) | Div(Mul(x, six), 6) | Mul(x, Div(six, 6)))
        if is_float(x, 22)
        => HardSwish(x);

    /// Fuses `x * tanh(log(1 + eˣ))` into a `Mish`.
    mish (class = bounded(relative = 1e-6, ulps = 4), opset = 18..): Mul(x, Tanh(Softplus(x))) if is_float(x, 22) => Mish(x);
}
