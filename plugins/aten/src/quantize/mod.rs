//! Quantisation: within floating point, and to codes and back as exported quantised programs state it.
//!
//! Codes become `QuantizeLinear` and `DequantizeLinear`, which runtimes fuse with the operators between them, wherever
//! ONNX has the type of the codes and the zero point is known to be one of them; the rest is plain arithmetic.
//! Source: `torch/ao/quantization/fx/_decomposed.py`.
//!
//! `DequantizeLinear` gives PyTorch's numbers bit by bit. `QuantizeLinear` divides by the scale where PyTorch multiplies
//! by its inverse: a quotient beside the middle between two codes, to within its rounding, may become the other one.

mod channels;
mod choose;
mod coding;
mod groups;
mod product;
mod tensors;
mod tokens;

use onnxport_sdk::prelude::*;

pub(crate) use product::linear;

/// `(clamp(round(self / scale) + zero_point, quant_min, quant_max) - zero_point) * scale`.
#[lowering("aten.fake_quantize_per_tensor_affine.default")]
fn fake_quantize(
    cx: &Lower,
    x: Value,
    scale: f64,
    zero_point: i64,
    quant_min: i64,
    quant_max: i64,
) -> Res<Value> {
    // PyTorch multiplies by the inverse, in f32.
    let inverse = f64::from(1.0 / scale as f32);
    let [low, high] = [quant_min, quant_max].map(|bound| (bound - zero_point) as f64);
    Ok(cx.clamp(cx.round(x * inverse), low, high) * scale)
}

/// A cast that quantised programs keep from being fused.
#[lowering("quantized_decomposed.convert_element_type.no_fuse")]
fn convert_element_type(cx: &Lower, x: Value) -> Res<Value> {
    Ok(cx.cast(x, cx.result(0)?.dtype))
}
