//! Parts along one axis.

use onnxport_sdk::prelude::*;

/// A bound of a slice as an i64 of shape `[1]`.
fn bound(cx: &Lower, n: &SymInt) -> Value {
    cx.sym_ints(std::slice::from_ref(n))
}

/// `self[start:end:step]` along `dim`. Negative bounds count from the end and all are clamped, as in
/// ONNX's `Slice`.
#[lowering("aten.slice.Tensor", "aten.slice_copy.Tensor", complex)]
fn slice(
    cx: &Lower,
    x: Value,
    dim: Axis,
    start: Option<SymInt>,
    end: Option<SymInt>,
    step: i64,
) -> Res<Value> {
    let (axis, extent) = (dim.0 as i64, cx.dim(x, dim.0));
    let kept = cx.result(0)?.shape.get(dim.0).copied().unwrap_or(Dim::Unknown);
    if step == 1 && kept == extent && extent != Dim::Unknown {
        return Ok(x);
    }
    let start = start.unwrap_or(SymInt::Const(0));
    let to_the_end = end.is_none_or(|e| extent != Dim::Unknown && cx.as_dim(&e) == extent);
    let end = if to_the_end { SymInt::Const(i64::MAX) } else { end.unwrap_or(SymInt::Const(i64::MAX)) };
    Ok(cx.slice_dynamic(x, axis, bound(cx, &start), bound(cx, &end), step))
}

/// `self[start : start + length]` along `dim`.
fn narrowed(cx: &Lower, x: Value, axis: usize, start: SymInt, length: SymInt) -> Value {
    let end = match (start, length) {
        (SymInt::Const(s), SymInt::Const(n)) if s < 0 && s + n == 0 => SymInt::Const(i64::MAX),
        (SymInt::Const(s), SymInt::Const(n)) => SymInt::Const(s.saturating_add(n)),
        (SymInt::Const(0), n) => n,
        _ => SymInt::Value(bound(cx, &start) + bound(cx, &length)),
    };
    cx.slice_dynamic(x, axis as i64, bound(cx, &start), bound(cx, &end), 1)
}

/// `length` elements along `dim` from `start` on.
#[lowering("aten.narrow.default", "aten.narrow_copy.default", complex)]
fn narrow(cx: &Lower, x: Value, dim: Axis, start: SymInt, length: SymInt) -> Res<Value> {
    Ok(narrowed(cx, x, dim.0, start, length))
}

/// As `narrow` with a 0-d tensor as start.
#[lowering("aten.narrow.Tensor", parts)]
fn narrow_tensor(cx: &Lower, x: Value, dim: Axis, start: Value, length: SymInt) -> Res<Value> {
    Ok(narrowed(cx, x, dim.0, SymInt::Value(cx.reshape(cx.cast(start, DType::I64), &[1])), length))
}

/// `self` at `index` of axis `dim`, which vanishes.
#[lowering("aten.select.int", "aten.select_copy.int", complex)]
fn select(cx: &Lower, x: Value, dim: Axis, index: SymInt) -> Res<Value> {
    Ok(cx.gather(x, cx.sym_int_scalar(&index), dim.0 as i64))
}
