//! Activations.

use onnxport_sdk::prelude::*;

rules! {
    /// `x * (1 + erf(x / √2)) / 2` is a GELU.
    gelu (opset = 20..):
        let erf = Erf((Div(x, 1.4142135623730951 ~ 1e-6) | Mul(x, 0.7071067811865476 ~ 1e-6)));
        (Mul(Mul(x, 0.5), Add(erf, 1)) | Mul(Mul(x, Add(erf, 1)), 0.5) | Mul(x, Mul(Add(erf, 1), 0.5)))
        => Gelu(x);

    /// `x * (1 + tanh(√(2/π) * (x + 0.044715 * x³))) / 2` is a GELU by way of `tanh`.
    gelu_tanh (opset = 20..):
        let cubic = Mul((Mul(Mul(x, x), x) | Pow(x, 3)), 0.044715 ~ 1e-6);
        let tanh = Tanh(Mul(Add(x, cubic), 0.7978845608028654 ~ 1e-6));
        (Mul(Mul(x, 0.5), Add(tanh, 1)) | Mul(Mul(x, Add(tanh, 1)), 0.5) | Mul(x, Mul(Add(tanh, 1), 0.5)))
        => Gelu(x, approximate = "tanh");

    /// `x * sigmoid(x)` is a SiLU.
    silu: Mul(x, Sigmoid(x)) if x.dtype() == Some(DType::F32)
        => "com.microsoft"::QuickGelu(x, alpha = 1.0_f32);

    /// `x * clip(x + 3, 0, 6) / 6` is a hard swish.
    hard_swish (opset = 14..):
        let six = Clip(Add(x, 3), 0, 6);
        (Mul(x, HardSigmoid(x, alpha = 0.16666667 ~ 1e-6, beta = 0.5)) | Div(Mul(x, six), 6) | Mul(x, Div(six, 6)))
        => HardSwish(x);
}
