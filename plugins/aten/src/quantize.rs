//! Quantisation: within floating point, and to integers and back as exported quantised programs state it.
//!
//! PyTorch multiplies by the inverse of a scale where ONNX's `QuantizeLinear` divides, which rounds to another
//! integer now and then; so these are plain arithmetic. Source: `torch/ao/quantization/fx/_decomposed.py`.

use onnxport_sdk::prelude::*;

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
    let inverse = cx.float(1.0 / scale, DType::F32);
    let zero_point = cx.float(zero_point as f64, DType::F32);
    quantized(cx, input, (inverse, zero_point), (quant_min, quant_max), DType::F32)
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
    // PyTorch takes the inverse of a Python float.
    let (scale, zero_point) = (single(cx, scale, DType::F64), single(cx, zero_point, DType::F32));
    quantized(cx, input, (cx.cast(1.0 / scale, DType::F32), zero_point), (quant_min, quant_max), DType::F32)
}

/// The same with a scale and a zero point for every place along `axis`.
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
    let dtype = cx.dtype(scales)?;
    let inverse = along(cx, 1.0 / scales, input, axis)?;
    let zero_points = cx.cast(zero_points, dtype);
    quantized(cx, input, (inverse, along(cx, zero_points, input, axis)?), (quant_min, quant_max), dtype)
}

/// `(input - zero_point) * scale`.
#[lowering("quantized_decomposed.dequantize_per_tensor.default")]
fn dequantize(cx: &Lower, input: Value, scale: f64, zero_point: i64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let scale = cx.float(scale, dtype);
    Ok((cx.cast(input, dtype) - (zero_point as f64)) * scale)
}

/// The same with a scale and a zero point that are tensors of one element.
#[lowering("quantized_decomposed.dequantize_per_tensor.tensor")]
fn dequantize_by_tensors(cx: &Lower, input: Value, scale: Value, zero_point: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (scale, zero_point) = (single(cx, scale, dtype), single(cx, zero_point, dtype));
    Ok((cx.cast(input, dtype) - zero_point) * scale)
}

/// The same with a scale and a zero point for every place along `axis`.
#[lowering("quantized_decomposed.dequantize_per_channel.default")]
fn dequantize_per_channel(
    cx: &Lower,
    input: Value,
    scales: Value,
    zero_points: Option<Value>,
    axis: Axis,
) -> Res<Value> {
    let (result, dtype) = (cx.result(0)?.dtype, cx.dtype(scales)?);
    let mut code = input;
    if let Some(zero_points) = zero_points {
        let zero_points = along(cx, zero_points, input, axis)?;
        // Integers are subtracted as such.
        let exact = if cx.dtype(zero_points)?.kind() == Kind::Int { DType::I64 } else { dtype };
        code = cx.cast(code, exact) - cx.cast(zero_points, exact);
    }
    Ok(cx.cast(cx.cast(code, dtype) * along(cx, scales, input, axis)?, result))
}

/// `input * inverse + zero_point`, rounded and clamped, as the integers that the program states.
fn quantized(
    cx: &Lower,
    input: Value,
    (inverse, zero_point): (Value, Value),
    (low, high): (i64, i64),
    dtype: DType,
) -> Res<Value> {
    let result = cx.result(0)?.dtype;
    let input = cx.cast(input, dtype);
    // The largest number of the type that is not above the bound: 2^31 is no int32.
    let high = if dtype == DType::F32 && (high as f32) as i64 > high {
        f64::from((high as f32).next_down())
    } else {
        high as f64
    };
    let code = cx.round(input * inverse) + zero_point;
    Ok(cx.cast(cx.clamp(code, low as f64, high), result))
}

/// A tensor of one element as a number of `dtype`.
fn single(cx: &Lower, x: Value, dtype: DType) -> Value {
    cx.cast(cx.reshape(x, &[]), dtype)
}

/// A vector, shaped to stand along `axis` of `like`.
fn along(cx: &Lower, x: Value, like: Value, axis: Axis) -> Res<Value> {
    let behind = cx.rank(like)? - axis.0 - 1;
    let new: Vec<i64> = (1..=behind as i64).collect();
    Ok(cx.unsqueeze(x, &new))
}
