//! The element at a given rank, and the most frequent one.

use onnxport_sdk::prelude::*;

use super::order::{top, whole};

/// The last of the `k` smallest elements along `axis` with its position.
fn kth(cx: &mut Lower, x: Value, k: Dim, axis: usize, keepdim: bool) -> Res<(Value, Value)> {
    let k = cx.dims_value(&[k]);
    let (values, indices) = top(cx, x, k, axis, false)?;
    if cx.rank(x)? == 0 {
        return Ok((values, indices));
    }
    let mut last = |v| {
        if keepdim {
            cx.slice(v, axis as i64, -1, i64::MAX, 1)
        } else {
            let end = cx.int(-1);
            cx.gather(v, end, axis as i64)
        }
    };
    Ok((last(values), last(indices)))
}

/// The `k`-th smallest element along `dim` with its position.
#[lowering("aten.kthvalue.default")]
fn kthvalue(cx: &mut Lower, x: Value, k: SymInt, dim: Axis, keepdim: bool) -> Res<(Value, Value)> {
    let k = cx.as_dim(&k);
    kth(cx, x, k, dim.0, keepdim)
}

/// The lower median along `dim` with its position. A slice that holds NaN gives NaN and where it is.
#[lowering("aten.median.dim")]
fn median_along(cx: &mut Lower, x: Value, dim: Axis, keepdim: bool) -> Res<(Value, Value)> {
    if cx.rank(x)? == 0 {
        let zero = cx.int(0);
        return Ok((x, zero));
    }
    let extent = cx.dim(x, dim.0);
    let middle = cx.dim_div(cx.dim_add(extent, 1), 2);
    let (value, index) = kth(cx, x, middle, dim.0, keepdim)?;
    if cx.dtype(x)?.kind() != Kind::Float {
        return Ok((value, index));
    }
    let nan = cx.is_nan(x);
    let nan = cx.cast(nan, DType::U8);
    let keep = i64::from(keepdim);
    let first = cx.op("ArgMax").input(nan).int("axis", dim.0 as i64).int("keepdims", keep).one();
    let worst = cx.reduce("ReduceMax", nan, &[dim.0 as i64], keepdim);
    let spoilt = cx.cast(worst, DType::Bool);
    let none = cx.float(f64::NAN, cx.dtype(x)?);
    Ok((cx.select(spoilt, none, value), cx.select(spoilt, first, index)))
}

/// The lower median of all elements.
#[lowering("aten.median.default")]
fn median(cx: &mut Lower, x: Value) -> Res<Value> {
    let flat = cx.reshape(x, &[-1]);
    Ok(median_along(cx, flat, Axis(0), false)?.0)
}

/// The lower median along `dim` of what is not NaN.
#[lowering("aten.nanmedian.dim")]
fn nanmedian_along(cx: &mut Lower, x: Value, dim: Axis, keepdim: bool) -> Res<(Value, Value)> {
    let dtype = cx.dtype(x)?;
    if dtype.kind() != Kind::Float || cx.rank(x)? == 0 {
        return median_along(cx, x, dim, keepdim);
    }
    let axis = dim.0 as i64;
    let nan = cx.is_nan(x);
    // NaN goes last; the middle of what is before it differs per slice.
    let (top_value, none) = (cx.float(f64::INFINITY, dtype), cx.float(f64::NAN, dtype));
    let clean = cx.select(nan, top_value, x);
    let k = whole(cx, x, dim.0)?;
    let (values, indices) = top(cx, clean, k, dim.0, false)?;
    let counted = cx.not(nan);
    let counted = cx.cast(counted, DType::I64);
    let count = cx.reduce("ReduceSum", counted, &[axis], true);
    let (one, two, zero) = (cx.int(1), cx.int(2), cx.int(0));
    let count_less = cx.sub(count, one);
    let positive = cx.max(count_less, zero);
    let middle = cx.div(positive, two);
    let mut pick = |v| cx.op("GatherElements").input(v).input(middle).int("axis", axis).one();
    let (value, index) = (pick(values), pick(indices));
    let empty = cx.equal(count, zero);
    let value = cx.select(empty, none, value);
    if keepdim {
        return Ok((value, index));
    }
    Ok((cx.squeeze(value, &[axis]), cx.squeeze(index, &[axis])))
}

/// The lower median of all elements that are not NaN.
#[lowering("aten.nanmedian.default")]
fn nanmedian(cx: &mut Lower, x: Value) -> Res<Value> {
    let flat = cx.reshape(x, &[-1]);
    Ok(nanmedian_along(cx, flat, Axis(0), false)?.0)
}

/// The most frequent element along `dim`, the smallest among equals, with its last position.
#[lowering("aten.mode.default")]
fn mode(cx: &mut Lower, x: Value, dim: Axis, keepdim: bool) -> Res<(Value, Value)> {
    if cx.rank(x)? == 0 {
        let zero = cx.int(0);
        return Ok((x, zero));
    }
    let axis = dim.0 as i64;
    let k = whole(cx, x, dim.0)?;
    let (sorted, _) = top(cx, x, k, dim.0, false)?;
    // How often each element of the sorted slice stands in it.
    let (rows, columns) = (cx.unsqueeze(sorted, &[axis + 1]), cx.unsqueeze(sorted, &[axis]));
    let same = cx.equal(rows, columns);
    let same = cx.cast(same, DType::I64);
    let counts = cx.reduce("ReduceSum", same, &[axis + 1], false);
    let first = cx.op("ArgMax").input(counts).int("axis", axis).one();
    let value = cx.op("GatherElements").input(sorted).input(first).int("axis", axis).one();
    let hits = cx.equal(x, value);
    let hits = cx.cast(hits, DType::U8);
    let node = cx.op("ArgMax").input(hits).int("axis", axis).int("select_last_index", 1);
    let index = node.int("keepdims", i64::from(keepdim)).one();
    Ok((if keepdim { value } else { cx.squeeze(value, &[axis]) }, index))
}
