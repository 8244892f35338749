//! A scale and a zero point for every group of positions along the rows of a matrix.

use onnxport_sdk::Fact;
use onnxport_sdk::prelude::*;

use super::channels::exact;
use super::coding::{Coding, centred, points};

/// `(input - zero_point) * scale`.
#[lowering("quantized_decomposed.dequantize_per_channel_group.default")]
fn dequantize_per_group(
    cx: &Lower,
    input: Value,
    scales: Value,
    zero_points: Option<Value>,
    group_size: i64,
) -> Res<Value> {
    let (result, dtype, codes) = (cx.result(0)?.dtype, cx.dtype(scales)?, cx.dtype(input)?);
    let size = group(cx, input, scales, group_size)?;
    if cx.opset() >= 21
        && exact(cx, input, zero_points)?
        && let Some(numbers) = in_blocks(cx, input, (scales, zero_points), codes, size)
    {
        return Ok(cx.cast(numbers, result));
    }
    let rows = cx.reshape(input, &[-1, size]);
    let flat = |x: Value| cx.reshape(x, &[-1]);
    if exact(cx, input, zero_points)?
        && let Some(coding) = Coding::of_vectors(cx, flat(scales), zero_points, 0, codes)
    {
        return cx.reshape_to_result(cx.cast(coding.dequantise(cx, rows), result), 0);
    }
    let column = |x: Value| cx.unsqueeze(flat(x), &[1]);
    let code = match zero_points {
        Some(zero_points) if cx.dtype(zero_points)?.kind() == Kind::Int => {
            centred(cx, rows, column(zero_points))?
        }
        Some(zero_points) => cx.cast(rows, dtype) - cx.cast(column(zero_points), dtype),
        None => rows,
    };
    cx.reshape_to_result(cx.cast(cx.cast(code, dtype) * column(scales), result), 0)
}

/// `clamp(round(input / scale + zero_point), quant_min, quant_max)` as integers.
#[lowering("quantized_decomposed.quantize_per_channel_group.default")]
fn quantize_per_group(
    cx: &Lower,
    input: Value,
    scales: Value,
    zero_points: Value,
    quant_min: i64,
    quant_max: i64,
    group_size: i64,
) -> Res<Value> {
    let rows = cx.reshape(input, &[-1, group(cx, input, scales, group_size)?]);
    let column = |x: Value| cx.reshape(x, &[-1, 1]);
    let inverse = 1.0 / column(scales);
    let dtype = cx.promoted(&[Operand::Tensor(input), Operand::Tensor(inverse)])?;
    let product = cx.cast(rows, dtype) * cx.cast(inverse, dtype);
    // The zero point is added before rounding, which `QuantizeLinear` does not do.
    let code = cx.round(product + cx.cast(column(zero_points), dtype));
    let code = cx.clamp(code, quant_min as f64, quant_max as f64);
    cx.reshape_to_result(cx.cast(code, cx.result(0)?.dtype), 0)
}

/// The positions of a group: all of a row where it is shorter.
fn group(cx: &Lower, input: Value, scales: Value, group_size: i64) -> Res<i64> {
    let extent =
        cx.dim(input, 1).as_const().ok_or_else(|| Refusal::new("rows of unknown length are grouped"))?;
    let single = cx.rank(scales)?.checked_sub(1).is_some_and(|last| cx.dim(scales, last).is(1));
    Ok(if group_size > extent && single { extent } else { group_size })
}

/// `DequantizeLinear` in blocks along the rows, where scales are a matrix beside the codes.
fn in_blocks(
    cx: &Lower,
    input: Value,
    (scales, zero_points): (Value, Option<Value>),
    codes: DType,
    size: i64,
) -> Option<Value> {
    let Fact { dtype: Some(DType::F32), shape: Some(shape) } = cx.fact(scales) else { return None };
    let extents: Vec<u64> = shape
        .iter()
        .map(|d| u64::try_from(d.as_const()?).ok())
        .collect::<Option<_>>()
        .filter(|s: &Vec<_>| s.len() == 2)?;
    let zero_points = match zero_points {
        Some(zero_points) => points(cx, zero_points, codes, &extents)?,
        None => cx.filled(&Scalar::Int(0), codes, &extents),
    };
    let node = cx.op(op::DequantizeLinear).input(input).input(scales).input(zero_points);
    Some(node.axis(1).block_size(size).one())
}
