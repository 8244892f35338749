//! One scale and zero point for a tensor.

use onnxport_sdk::prelude::*;

use super::coding::{Coding, arithmetic, clips};

/// `clamp(round(input / scale) + zero_point, quant_min, quant_max)` as integers.
#[lowering("quantized_decomposed.quantize_per_tensor.default")]
fn quantize(
    cx: &Lower,
    input: Value,
    scale: f64,
    zero_point: i64,
    quant_min: i64,
    quant_max: i64,
) -> Res<Value> {
    let (codes, bounds) = (cx.result(0)?.dtype, (quant_min, quant_max));
    if let Some(coding) =
        Coding::of_numbers(cx, scale, zero_point, codes).filter(|_| clips(cx, codes, bounds))
    {
        return Ok(coding.quantise(cx, input, codes, bounds));
    }
    let inverse = cx.float(1.0 / scale, DType::F32);
    let zero_point = cx.float(zero_point as f64, DType::F32);
    arithmetic(cx, input, (inverse, zero_point), bounds, DType::F32)
}

/// The same with a scale and a zero point that are tensors of one element.
#[lowering("quantized_decomposed.quantize_per_tensor.tensor")]
fn quantize_by_tensors(
    cx: &Lower,
    input: Value,
    scale: Value,
    zero_point: Value,
    quant_min: i64,
    quant_max: i64,
) -> Res<Value> {
    let (codes, bounds) = (cx.result(0)?.dtype, (quant_min, quant_max));
    if clips(cx, codes, bounds)
        && let Some(coding) = Coding::of_tensors(cx, scale, zero_point, codes)
    {
        return Ok(coding.quantise(cx, input, codes, bounds));
    }
    // PyTorch takes the inverse of a Python float.
    let (scale, zero_point) = (single(cx, scale, DType::F64), single(cx, zero_point, DType::F32));
    arithmetic(cx, input, (cx.cast(1.0 / scale, DType::F32), zero_point), bounds, DType::F32)
}

/// The same with bounds that are tensors of one element.
#[lowering("quantized_decomposed.quantize_per_tensor.tensor2")]
fn quantize_within_tensors(
    cx: &Lower,
    input: Value,
    scale: Value,
    zero_point: Value,
    quant_min: Value,
    quant_max: Value,
) -> Res<Value> {
    let bound = |x: Value| match cx.contents_of(x).and_then(|x| x.ints()).as_deref() {
        Some([bound]) => Ok(*bound),
        _ => Err(Refusal::new("the bounds of the codes are not constants")),
    };
    quantize_by_tensors(cx, input, scale, zero_point, bound(quant_min)?, bound(quant_max)?)
}

/// `(input - zero_point) * scale`.
#[lowering("quantized_decomposed.dequantize_per_tensor.default")]
fn dequantize(cx: &Lower, input: Value, scale: f64, zero_point: i64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let codes = cx.dtype(input)?;
    if let Some(coding) = Coding::of_numbers(cx, scale, zero_point, codes).filter(|_| holds(dtype, codes)) {
        return Ok(cx.cast(coding.dequantise(cx, input), dtype));
    }
    let scale = cx.float(scale, dtype);
    Ok((cx.cast(input, dtype) - (zero_point as f64)) * scale)
}

/// The same with a scale and a zero point that are tensors of one element.
#[lowering(
    "quantized_decomposed.dequantize_per_tensor.tensor",
    "quantized_decomposed.dequantize_per_tensor.tensor2"
)]
fn dequantize_by_tensors(cx: &Lower, input: Value, scale: Value, zero_point: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let codes = cx.dtype(input)?;
    if holds(dtype, codes)
        && let Some(coding) = Coding::of_tensors(cx, scale, zero_point, codes)
    {
        return Ok(cx.cast(coding.dequantise(cx, input), dtype));
    }
    let (scale, zero_point) = (single(cx, scale, dtype), single(cx, zero_point, dtype));
    Ok((cx.cast(input, dtype) - zero_point) * scale)
}

/// Whether PyTorch's differences of codes are exact in `dtype`, to which it casts codes before it subtracts: then a
/// product in f32 that is rounded to `dtype` is what it computes.
fn holds(dtype: DType, codes: DType) -> bool {
    match dtype {
        DType::F32 => true,
        DType::F16 | DType::BF16 => codes.bits() == 8,
        _ => false,
    }
}

/// A tensor of one element as a number of `dtype`.
fn single(cx: &Lower, x: Value, dtype: DType) -> Value {
    cx.cast(cx.reshape(x, &[]), dtype)
}
