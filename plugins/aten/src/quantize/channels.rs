//! A scale and a zero point for every position along an axis.

use onnxport_sdk::prelude::*;

use super::coding::{Coding, arithmetic, centred, clips};

/// `clamp(round(input / scale) + zero_point, quant_min, quant_max)` as integers.
#[lowering("quantized_decomposed.quantize_per_channel.default")]
fn quantize_per_channel(
    cx: &Lower,
    input: Value,
    scales: Value,
    zero_points: Value,
    axis: Axis,
    quant_min: i64,
    quant_max: i64,
) -> Res<Value> {
    let (codes, bounds) = (cx.result(0)?.dtype, (quant_min, quant_max));
    if clips(cx, codes, bounds)
        && let Some(coding) = Coding::of_vectors(cx, scales, Some(zero_points), axis.0, codes)
    {
        return Ok(coding.quantise(cx, input, codes, bounds));
    }
    let dtype = cx.dtype(scales)?;
    let inverse = along(cx, 1.0 / scales, input, axis)?;
    let zero_points = cx.cast(zero_points, dtype);
    arithmetic(cx, input, (inverse, along(cx, zero_points, input, axis)?), bounds, dtype)
}

/// `(input - zero_point) * scale`.
#[lowering("quantized_decomposed.dequantize_per_channel.default")]
fn dequantize_per_channel(
    cx: &Lower,
    input: Value,
    scales: Value,
    zero_points: Option<Value>,
    axis: Axis,
) -> Res<Value> {
    let (result, dtype, codes) = (cx.result(0)?.dtype, cx.dtype(scales)?, cx.dtype(input)?);
    if exact(cx, input, zero_points)?
        && let Some(coding) = Coding::of_vectors(cx, scales, zero_points, axis.0, codes)
    {
        return Ok(cx.cast(coding.dequantise(cx, input), result));
    }
    let mut code = input;
    if let Some(zero_points) = zero_points {
        let zero_points = along(cx, zero_points, input, axis)?;
        // Integers are subtracted as such.
        code = match cx.dtype(zero_points)?.kind() {
            Kind::Int => centred(cx, code, zero_points)?,
            _ => cx.cast(code, dtype) - cx.cast(zero_points, dtype),
        };
    }
    Ok(cx.cast(cx.cast(code, dtype) * along(cx, scales, input, axis)?, result))
}

/// `(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale`.
#[lowering("quantized_decomposed.fake_quant_per_channel.default")]
fn fake_quantize_per_channel(
    cx: &Lower,
    input: Value,
    scales: Value,
    zero_points: Value,
    axis: Axis,
    quant_min: i64,
    quant_max: i64,
) -> Res<Value> {
    let bounds = (quant_min, quant_max);
    for codes in [DType::I8, DType::U8] {
        if clips(cx, codes, bounds)
            && let Some(coding) = Coding::of_vectors(cx, scales, Some(zero_points), axis.0, codes)
        {
            return Ok(coding.dequantise(cx, coding.quantise(cx, input, codes, bounds)));
        }
    }
    let scales = along(cx, cx.cast(scales, DType::F32), input, axis)?;
    let zero_points = cx.cast(cx.cast(zero_points, DType::I32), DType::F32);
    let zero_points = along(cx, zero_points, input, axis)?;
    let code = cx.round(input * (1.0 / scales)) + zero_points;
    Ok((cx.clamp(code, quant_min as f64, quant_max as f64) - zero_points) * scales)
}

/// Whether PyTorch subtracts zero points in a type that holds every difference of codes.
pub(super) fn exact(cx: &Lower, codes: Value, zero_points: Option<Value>) -> Res<bool> {
    let Some(zero_points) = zero_points else { return Ok(true) };
    let (codes, points) = (cx.dtype(codes)?, cx.dtype(zero_points)?);
    Ok(matches!(points, DType::I32 | DType::I64) || (points == DType::I16 && codes.bits() == 8))
}

/// A vector, shaped to stand along `axis` of `like`.
fn along(cx: &Lower, x: Value, like: Value, axis: Axis) -> Res<Value> {
    let behind = cx.rank(like)? - axis.0 - 1;
    let new: Vec<i64> = (1..=behind as i64).collect();
    Ok(cx.unsqueeze(x, &new))
}
