//! Reductions of consecutive parts of an axis.

use onnxport_sdk::prelude::*;

use super::scatter::scattered;

/// The sum, mean, product, largest or smallest element of each segment of `data` along `axis`.
///
/// Segments are given by their lengths, or by the offset of each and the end of the last. The reduction starts with
/// `initial`; a mean of nothing is NaN, unless that is given (ATen's `SegmentReduce.cpp`).
#[lowering("aten.segment_reduce.default")]
fn segment_reduce(
    cx: &Lower,
    x: Value,
    reduce: Str,
    lengths: Option<Value>,
    indices: Option<Value>,
    offsets: Option<Value>,
    axis: Axis,
    initial: Option<Scalar>,
) -> Res<Value> {
    if indices.is_some() {
        return Err("argument `indices`: PyTorch has no segments by indices".into());
    }
    let (Axis(axis), dtype) = (axis, cx.dtype(x)?);
    let (starts, ends) = match (lengths, offsets) {
        (_, Some(offsets)) => {
            let offsets = cx.cast(offsets, DType::I64);
            let along = axis as i64;
            (cx.slice(offsets, along, 0, -1, 1), cx.slice(offsets, along, 1, i64::MAX, 1))
        }
        (Some(lengths), None) => {
            let lengths = cx.cast(lengths, DType::I64);
            let ends = cx.op(op::CumSum).input(lengths).input(cx.int(axis as i64)).one();
            (ends - lengths, ends)
        }
        (None, None) => return Err("neither `lengths` nor `offsets` is given".into()),
    };
    let (name, neutral) = match reduce.0 {
        "sum" | "mean" => ("add", Scalar::Int(0)),
        "prod" => ("mul", Scalar::Int(1)),
        "max" | "amax" => ("max", Scalar::Float(f64::NEG_INFINITY)),
        "min" | "amin" => ("min", Scalar::Float(f64::INFINITY)),
        other => return Err(format!("argument `reduce`: `{other}` is not a reduction").into()),
    };
    // The segment of an element: the number of segments that end at or before it.
    let count = cx.squeeze(cx.extent(x, axis), &[0]);
    let positions = cx.unsqueeze(cx.range(cx.int(0), count, cx.int(1)), &[-1]);
    let (first, last) = (cx.unsqueeze(starts, &[-2]), cx.unsqueeze(ends, &[-2]));
    let ended = cx.cast(cx.less_equal(last, positions), DType::I64);
    let segment = cx.reduce(op::ReduceSum, ended, &[-1], false);
    // Elements before the first offset or behind the last one are in no segment.
    let inside = cx.greater_equal(positions, first) & cx.less(positions, last);
    let inside = cx.reduce(op::ReduceMax, cx.cast(inside, DType::I32), &[-1], false);
    let segments = cx.squeeze(cx.extent(ends, axis), &[0]);
    let segment = cx.min(segment, cx.max(segments - 1, 0));
    let spread = |v: Value| -> Res<Value> {
        let behind: Vec<i64> = (axis as i64 + 1..cx.rank(x)? as i64).collect();
        Ok(if behind.is_empty() { v } else { cx.unsqueeze(v, &behind) })
    };
    let inside = cx.cast(spread(inside)?, DType::Bool);
    let updates = cx.select(inside, x, cx.number(&neutral, dtype));
    let index = cx.expand(spread(segment)?, cx.shape_value(x));
    let start = table(cx, x, ends, axis, initial.as_ref().unwrap_or(&neutral), dtype)?;
    let total = scattered(cx, start, axis, index, updates, name)?;
    if reduce.0 != "mean" {
        return Ok(total);
    }
    let lengths = cx.cast(spread(ends - starts)?, dtype);
    Ok(total / if initial.is_some() { cx.max(lengths, 1) } else { lengths })
}

/// A tensor with the shape of `x`, but an element for each segment along `axis`.
fn table(cx: &Lower, x: Value, ends: Value, axis: usize, number: &Scalar, dtype: DType) -> Res<Value> {
    let mut extents = Vec::new();
    for other in 0..cx.rank(x)? {
        extents.push(if other == axis { cx.extent(ends, axis) } else { cx.extent(x, other) });
    }
    let shape = cx.concat(&extents, 0);
    Ok(match number {
        Scalar::Sym(number) => cx.expand(cx.cast(*number, dtype), shape),
        number => cx.constant_of_shape(shape, cx.filled(number, dtype, &[1])),
    })
}
