//! Operators that combine the elements along axes.

mod cumulative;
mod extremes;
mod moments;
mod norms;
mod softmax;
mod sums;
mod truth;

use onnxport_sdk::prelude::*;

use crate::support::full;

pub(crate) use norms::{matrix_norm, named_matrix_norm, vector_norm};

/// A reduction over `axes`, or over all axes where there are none. A 0-d operand is its own
/// reduction; types that ONNX does not define it of compute in a wider one.
pub(crate) fn reduce(
    cx: &Lower,
    op: impl Operator<'static>,
    x: Value,
    axes: &[i64],
    keepdim: bool,
) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if cx.rank(x)? == 0 {
        return Ok(match op.name() {
            "ReduceL1" | "ReduceL2" => cx.abs(x),
            "ReduceSumSquare" => x * x,
            _ => x,
        });
    }
    if let Some(empty) = empty(cx, op, x, axes, keepdim)? {
        return Ok(empty);
    }
    if op.is(op::ReduceMean) && count(cx, x, axes, dtype)? == Ok(0) {
        // ONNX leaves the mean of nothing open; PyTorch says NaN.
        let sum = reduce(cx, op::ReduceSum, x, axes, keepdim)?;
        return Ok(cx.div(sum, sum));
    }
    let ordered = op.is(op::ReduceMax) || op.is(op::ReduceMin);
    let compute = match dtype {
        // ONNX Runtime does not reduce truth values of which there are none.
        DType::Bool if ordered && (cx.opset() < 20 || may_be_empty(cx, x)?) => DType::U8,
        DType::I8 | DType::U8 if !ordered => DType::I32,
        DType::I16 => DType::I32,
        other => other,
    };
    Ok(cx.cast(cx.reduce(op, cx.cast(x, compute), axes, keepdim), dtype))
}

/// The reduction of an operand that is known to be empty: the neutral element of the operator. `None` where the operand is
/// not, and for maxima, minima and means, which have no neutral element.
fn empty(
    cx: &Lower,
    op: impl Operator<'static>,
    x: Value,
    axes: &[i64],
    keepdim: bool,
) -> Res<Option<Value>> {
    let (dtype, shape) = (cx.dtype(x)?, cx.shape(x)?);
    if !shape.contains(&Dim::Const(0)) {
        return Ok(None);
    }
    let rank = shape.len() as i64;
    let reduced = |axis: i64| axes.is_empty() || axes.contains(&axis) || axes.contains(&(axis - rank));
    let extents = shape
        .iter()
        .zip(0..)
        .filter_map(|(d, axis)| if reduced(axis) { keepdim.then_some(Dim::Const(1)) } else { Some(*d) });
    let extents: Vec<Dim> = extents.collect();
    let neutral = match op.name() {
        _ if extents.contains(&Dim::Const(0)) => Scalar::Int(0),
        "ReduceSum" | "ReduceL1" | "ReduceL2" | "ReduceSumSquare" => Scalar::Int(0),
        "ReduceProd" => Scalar::Int(1),
        "ReduceLogSumExp" => Scalar::Float(f64::NEG_INFINITY),
        _ => return Ok(None),
    };
    Ok(Some(full(cx, &extents, &neutral, dtype)))
}

fn may_be_empty(cx: &Lower, x: Value) -> Res<bool> {
    Ok(cx.shape(x)?.iter().any(|dim| dim.as_const().is_none_or(|n| n == 0)))
}

/// The axes of an optional `dim`; none stand for all.
pub(crate) fn axes_of(dim: Option<&Axes>) -> Vec<i64> {
    dim.map(Axes::ints).unwrap_or_default()
}

/// How many elements a reduction of `x` over `axes` combines: a constant, or a 0-d value of `dtype`.
pub(crate) fn count(cx: &Lower, x: Value, axes: &[i64], dtype: DType) -> Res<Result<i64, Value>> {
    let shape = cx.shape(x)?;
    let rank = shape.len() as i64;
    let combined = |axis: usize| {
        axes.is_empty() || axes.contains(&(axis as i64)) || axes.contains(&(axis as i64 - rank))
    };
    let extents: Vec<Dim> =
        shape.iter().enumerate().filter(|(axis, _)| combined(*axis)).map(|(_, d)| *d).collect();
    let total = extents.iter().fold(Dim::Const(1), |n, d| cx.dim_mul(n, *d));
    if let Some(n) = total.as_const() {
        return Ok(Ok(n));
    }
    Ok(Err(cx.cast(cx.squeeze(cx.dims_value(&[total]), &[0]), dtype)))
}
