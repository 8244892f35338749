//! Sorting: `TopK` over a whole axis. Among equals the earlier comes first, so every sort is stable.
//! PyTorch puts NaN above every number; ONNX gives it no place.

use onnxport_sdk::prelude::*;

/// The `k` largest or smallest elements along `axis`, in order, and their positions.
pub(super) fn top(cx: &Lower, x: Value, k: Value, axis: usize, largest: bool) -> Res<(Value, Value)> {
    let dtype = cx.dtype(x)?;
    let wide = match dtype {
        DType::Bool => DType::U8,
        DType::U64 => DType::I64,
        other => other,
    };
    let x = cx.cast(x, wide);
    if cx.rank(x)? == 0 {
        let x = cx.unsqueeze(x, &[0]);
        let node = cx.op(op::TopK).input(x).input(k).axis(0).largest(largest);
        let [values, indices] = node.outs();
        return Ok((cx.squeeze(cx.cast(values, dtype), &[0]), cx.squeeze(indices, &[0])));
    }
    let node = cx.op(op::TopK).input(x).input(k).axis(axis as i64).largest(largest);
    let [values, indices] = node.outs();
    Ok((cx.cast(values, dtype), indices))
}

/// The extent of `axis`, or 1 for a tensor without axes.
pub(super) fn whole(cx: &Lower, x: Value, axis: usize) -> Res<Value> {
    if cx.rank(x)? == 0 {
        return Ok(cx.ints(&[1]));
    }
    let extent = cx.dim(x, axis);
    Ok(if extent == Dim::Unknown { cx.extent(x, axis) } else { cx.dims_value(&[extent]) })
}

/// The `k` largest, or smallest, elements along `dim` with their positions.
#[lowering("aten.topk.default")]
fn topk(cx: &Lower, x: Value, k: SymInt, dim: Axis, largest: bool) -> Res<(Value, Value)> {
    top(cx, x, cx.sym_ints(&[k]), dim.0, largest)
}

/// The elements along `dim` in order with their positions.
#[lowering("aten.sort.default", "aten.sort.stable")]
fn sort(cx: &Lower, x: Value, dim: Axis, descending: bool) -> Res<(Value, Value)> {
    top(cx, x, whole(cx, x, dim.0)?, dim.0, descending)
}

/// The positions that sort `self` along `dim`.
#[lowering("aten.argsort.default", "aten.argsort.stable")]
fn argsort(cx: &Lower, x: Value, dim: Axis, descending: bool) -> Res<Value> {
    Ok(sort(cx, x, dim, descending)?.1)
}

/// The elements sorted along the first axis.
#[lowering("aten.msort.default")]
fn msort(cx: &Lower, x: Value) -> Res<Value> {
    Ok(sort(cx, x, Axis(0), false)?.0)
}
