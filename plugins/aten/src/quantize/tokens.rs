//! A scale and a zero point for every row along the last axis.
//!
//! These add the zero point before they round, and scales have as many axes as the coded tensor: no operator of ONNX
//! says so, and no runtime fuses it.

use onnxport_sdk::prelude::*;

/// The scale of the greatest magnitude of each row, for int8 around zero.
#[lowering("quantized_decomposed.choose_qparams_per_token.default")]
fn choose_per_token(cx: &Lower, input: Value, dtype: DType) -> Res<(Value, Value)> {
    if dtype != DType::I8 {
        return Err(format!("codes of type {dtype} per token").into());
    }
    let mut largest = cx.reduce(op::ReduceMax, cx.abs(input), &[-1], true);
    if cx.dtype(largest)? == DType::F16 {
        largest = cx.cast(largest, DType::F32);
    }
    let scales = cx.max(largest, 1e-5) / 127.0;
    let zeros = scales * 0.0;
    Ok((cx.cast(scales, cx.result(0)?.dtype), cx.cast(zeros, cx.result(1)?.dtype)))
}

/// The scale and the zero point that spread the range of each row, zero included, over int8.
#[lowering("quantized_decomposed.choose_qparams_per_token_asymmetric.default")]
fn choose_per_token_asymmetric(cx: &Lower, input: Value) -> Res<(Value, Value)> {
    let low = cx.min(cx.reduce(op::ReduceMin, input, &[-1], true), 0.0);
    let high = cx.max(cx.reduce(op::ReduceMax, input, &[-1], true), 0.0);
    let scale = cx.max((high - low) / 255.0, f64::from(f32::EPSILON));
    let (below, above) = (low / scale, high / scale);
    let error = (below + -128.0) + (above + 127.0);
    let point = cx.select(cx.greater(error, 0.0), -128.0 - below, 127.0 - above);
    let point = cx.round(cx.clamp(point, -128.0, 127.0));
    Ok((cx.cast(scale, cx.result(0)?.dtype), cx.cast(point, cx.result(1)?.dtype)))
}

/// `clamp(round(input / scales + zero_points), quant_min, quant_max)` as integers.
#[lowering("quantized_decomposed.quantize_per_token.default")]
fn quantize_per_token(
    cx: &Lower,
    input: Value,
    scales: Value,
    zero_points: Value,
    quant_min: i64,
    quant_max: i64,
) -> Res<Value> {
    let inverse = 1.0 / scales;
    let dtype = cx.promoted(&[Operand::Tensor(input), Operand::Tensor(inverse)])?;
    let product = cx.cast(input, dtype) * cx.cast(inverse, dtype);
    let code = cx.round(product + cx.cast(zero_points, dtype));
    Ok(cx.cast(cx.clamp(code, quant_min as f64, quant_max as f64), cx.result(0)?.dtype))
}

/// `(input - zero_points) * scales`.
#[lowering("quantized_decomposed.dequantize_per_token.default")]
fn dequantize_per_token(cx: &Lower, input: Value, scales: Value, zero_points: Value) -> Res<Value> {
    let dtype = cx.dtype(scales)?;
    let code = match cx.dtype(zero_points)?.kind() {
        Kind::Int => super::coding::centred(cx, input, zero_points)?,
        _ => cx.cast(input, dtype) - cx.cast(zero_points, dtype),
    };
    Ok(cx.cast(cx.cast(code, dtype) * scales, cx.result(0)?.dtype))
}
