//! The element at a given rank, and the most frequent one.

use onnxport_sdk::prelude::*;

use super::order::{top, whole};

/// The last of the `k` smallest elements along `axis` with its position.
fn kth(cx: &Lower, x: Value, k: Dim, axis: usize, keepdim: bool) -> Res<(Value, Value)> {
    let (values, indices) = top(cx, x, cx.dims_value(&[k]), axis, false)?;
    if cx.rank(x)? == 0 {
        return Ok((values, indices));
    }
    let last = |v| {
        if keepdim {
            cx.slice(v, axis as i64, -1, i64::MAX, 1)
        } else {
            cx.gather(v, cx.int(-1), axis as i64)
        }
    };
    Ok((last(values), last(indices)))
}

/// The `k`-th smallest element along `dim` with its position.
#[lowering("aten.kthvalue.default")]
fn kthvalue(cx: &Lower, x: Value, k: SymInt, dim: Axis, keepdim: bool) -> Res<(Value, Value)> {
    let k = cx.as_dim(&k);
    kth(cx, x, k, dim.0, keepdim)
}

/// The lower median along `dim` with its position. A slice that holds NaN gives NaN and where it is.
#[lowering("aten.median.dim")]
fn median_along(cx: &Lower, x: Value, dim: Axis, keepdim: bool) -> Res<(Value, Value)> {
    if cx.rank(x)? == 0 {
        return Ok((x, cx.int(0)));
    }
    let extent = cx.dim(x, dim.0);
    let middle = cx.dim_div(cx.dim_add(extent, 1), 2);
    let (value, index) = kth(cx, x, middle, dim.0, keepdim)?;
    if cx.dtype(x)?.kind() != Kind::Float {
        return Ok((value, index));
    }
    let nan = cx.cast(cx.is_nan(x), DType::U8);
    let keep = i64::from(keepdim);
    let first = cx.op(op::ArgMax).input(nan).axis(dim.0 as i64).keepdims(keep).one();
    let spoilt = cx.cast(cx.reduce(op::ReduceMax, nan, &[dim.0 as i64], keepdim), DType::Bool);
    Ok((cx.select(spoilt, f64::NAN, value), cx.select(spoilt, first, index)))
}

/// The lower median of all elements.
#[lowering("aten.median.default")]
fn median(cx: &Lower, x: Value) -> Res<Value> {
    Ok(median_along(cx, cx.reshape(x, &[-1]), Axis(0), false)?.0)
}

/// The lower median along `dim` of elements other than NaN.
#[lowering("aten.nanmedian.dim")]
fn nanmedian_along(cx: &Lower, x: Value, dim: Axis, keepdim: bool) -> Res<(Value, Value)> {
    let dtype = cx.dtype(x)?;
    if dtype.kind() != Kind::Float || cx.rank(x)? == 0 {
        return median_along(cx, x, dim, keepdim);
    }
    let axis = dim.0 as i64;
    let nan = cx.is_nan(x);
    // NaN goes last; the middle before it differs per slice.
    let (top_value, none) = (cx.float(f64::INFINITY, dtype), cx.float(f64::NAN, dtype));
    let (values, indices) = top(cx, cx.select(nan, top_value, x), whole(cx, x, dim.0)?, dim.0, false)?;
    let count = cx.reduce(op::ReduceSum, cx.cast(!nan, DType::I64), &[axis], true);
    let (one, two, zero) = (cx.int(1), cx.int(2), cx.int(0));
    let middle = cx.max(count - one, zero) / two;
    let pick = |v| cx.op(op::GatherElements).input(v).input(middle).axis(axis).one();
    let (value, index) = (pick(values), pick(indices));
    let value = cx.select(cx.equal(count, zero), none, value);
    if keepdim {
        return Ok((value, index));
    }
    Ok((cx.squeeze(value, &[axis]), cx.squeeze(index, &[axis])))
}

/// The lower median of all elements that are not NaN.
#[lowering("aten.nanmedian.default")]
fn nanmedian(cx: &Lower, x: Value) -> Res<Value> {
    Ok(nanmedian_along(cx, cx.reshape(x, &[-1]), Axis(0), false)?.0)
}

/// The most frequent element along `dim`, the smallest among equals, with its last position.
#[lowering("aten.mode.default")]
fn mode(cx: &Lower, x: Value, dim: Axis, keepdim: bool) -> Res<(Value, Value)> {
    if cx.rank(x)? == 0 {
        return Ok((x, cx.int(0)));
    }
    let axis = dim.0 as i64;
    let (sorted, _) = top(cx, x, whole(cx, x, dim.0)?, dim.0, false)?;
    // How often each element of the sorted slice stands in it.
    let (rows, columns) = (cx.unsqueeze(sorted, &[axis + 1]), cx.unsqueeze(sorted, &[axis]));
    let counts = cx.reduce(op::ReduceSum, cx.cast(cx.equal(rows, columns), DType::I64), &[axis + 1], false);
    let first = cx.op(op::ArgMax).input(counts).axis(axis).one();
    let value = cx.op(op::GatherElements).input(sorted).input(first).axis(axis).one();
    let hits = cx.equal(x, value);
    let node = cx.op(op::ArgMax).input(cx.cast(hits, DType::U8)).axis(axis).select_last_index(1);
    let index = node.keepdims(keepdim).one();
    Ok((if keepdim { value } else { cx.squeeze(value, &[axis]) }, index))
}
