//! Sorting: `TopK` over a whole axis. Among equals the earlier comes first, so every sort is stable.
//! PyTorch puts NaN above every number, ONNX nowhere, so that floating-point numbers are sorted by a key.

use onnxport_sdk::prelude::*;

/// Numbers in the order of `x` that `TopK` sorts: infinity for NaN, and the largest finite one for infinity.
fn key(cx: &Lower, x: Value) -> Res<Value> {
    let wide = match cx.dtype(x)? {
        DType::Bool => DType::U8,
        DType::U64 => DType::I64,
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    };
    let number = cx.cast(x, wide);
    let largest = match wide {
        DType::F32 => f64::from(f32::MAX),
        DType::F64 => f64::MAX,
        _ => return Ok(number),
    };
    let finite = cx.min(number, cx.float(largest, wide));
    Ok(cx.select(cx.is_nan(x), f64::INFINITY, finite))
}

/// The `k` largest or smallest elements along `axis`, in order, and their positions.
pub(super) fn top(cx: &Lower, x: Value, k: Value, axis: usize, largest: bool) -> Res<(Value, Value)> {
    let dtype = cx.dtype(x)?;
    let single = cx.rank(x)? == 0;
    let x = if single { cx.unsqueeze(x, &[0]) } else { x };
    let axis = axis as i64;
    let node = cx.op(op::TopK).input(key(cx, x)?).input(k).axis(axis).largest(largest);
    let [keys, indices] = node.outs();
    let values = if dtype.kind() == Kind::Float {
        cx.op(op::GatherElements).input(x).input(indices).axis(axis).one()
    } else {
        cx.cast(keys, dtype)
    };
    if single { Ok((cx.squeeze(values, &[0]), cx.squeeze(indices, &[0]))) } else { Ok((values, indices)) }
}

/// The size of `axis`, or 1 for a tensor without axes.
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
