//! Scales and zero points of activations, from their least and greatest elements.
//!
//! `DynamicQuantizeLinear` has no least scale, which PyTorch calls `eps`, and codes of uint8 alone; so it is said by
//! the operators that it stands for. Source: `determine_qparams` in `torch/ao/quantization/utils.py`.

use onnxport_sdk::prelude::*;

use super::coding::limits;

/// The scale and the zero point that spread the range of `input`, zero included, over the codes.
#[lowering("quantized_decomposed.choose_qparams.tensor")]
fn choose(
    cx: &Lower,
    input: Value,
    quant_min: i64,
    quant_max: i64,
    eps: f64,
    dtype: DType,
) -> Res<(Value, Value)> {
    let (low, high) = range(cx, input);
    let scale = cx.cast((high - low) / ((quant_max - quant_min) as f64), DType::F32);
    let scale = cx.max(scale, cx.float(eps, DType::F32));
    let below = cx.round(cx.cast(low, DType::F32) / scale);
    let zero_point = cx.clamp((quant_min as f64) - below, quant_min as f64, quant_max as f64);
    // In the type of the codes first, where `QuantizeLinear` finds it.
    let coded =
        limits(cx, dtype).is_some_and(|(least, greatest)| least <= quant_min && quant_max <= greatest);
    let zero_point = if coded { cx.cast(zero_point, dtype) } else { zero_point };
    stated(cx, scale, zero_point)
}

/// The scale that spreads the greatest magnitude to both sides of zero.
#[lowering("quantized_decomposed.choose_qparams_symmetric.tensor")]
fn choose_symmetric(
    cx: &Lower,
    input: Value,
    quant_min: i64,
    quant_max: i64,
    eps: f64,
    dtype: DType,
) -> Res<(Value, Value)> {
    let (low, high) = range(cx, input);
    let scale = cx.max(-low, high) / ((quant_max - quant_min) as f64 / 2.0);
    let scale = cx.max(cx.cast(scale, DType::F32), cx.float(eps, DType::F32));
    let middle = if dtype == DType::U8 { 128 } else { 0 };
    Ok((stated(cx, scale, scale)?.0, cx.ints(&[middle])))
}

/// The least and the greatest element, at most and at least zero.
fn range(cx: &Lower, input: Value) -> (Value, Value) {
    let low = cx.min(cx.reduce(op::ReduceMin, input, &[], false), 0.0);
    (low, cx.max(cx.reduce(op::ReduceMax, input, &[], false), 0.0))
}

/// Numbers without axes in the form that the program states: of wider types, with an axis.
fn stated(cx: &Lower, scale: Value, zero_point: Value) -> Res<(Value, Value)> {
    let (first, second) = (cx.result(0)?.dtype, cx.result(1)?.dtype);
    Ok((cx.unsqueeze(cx.cast(scale, first), &[0]), cx.unsqueeze(cx.cast(zero_point, second), &[0])))
}
