//! Parts along one axis.

use onnxport_sdk::prelude::*;

/// A bound of a slice as an i64 of shape `[1]`.
fn bound(cx: &mut Lower, n: &SymInt) -> Value {
    cx.sym_ints(std::slice::from_ref(n))
}

/// `self[start:end:step]` along `dim`. Negative bounds count from the end and all are clamped, as in
/// ONNX's `Slice`.
#[lowering("aten.slice.Tensor", "aten.slice_copy.Tensor", complex)]
fn slice(
    cx: &mut Lower,
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
    let (start, end) = (bound(cx, &start), bound(cx, &end));
    Ok(cx.slice_dynamic(x, axis, start, end, step))
}

/// `self[start : start + length]` along `dim`.
fn narrowed(cx: &mut Lower, x: Value, axis: usize, start: SymInt, length: SymInt) -> Value {
    let end = match (start, length) {
        (SymInt::Const(s), SymInt::Const(n)) if s < 0 && s + n == 0 => SymInt::Const(i64::MAX),
        (SymInt::Const(s), SymInt::Const(n)) => SymInt::Const(s.saturating_add(n)),
        (SymInt::Const(0), n) => n,
        _ => {
            let (s, n) = (bound(cx, &start), bound(cx, &length));
            SymInt::Value(cx.add(s, n))
        }
    };
    let (start, end) = (bound(cx, &start), bound(cx, &end));
    cx.slice_dynamic(x, axis as i64, start, end, 1)
}

/// `length` elements along `dim` from `start` on.
#[lowering("aten.narrow.default", "aten.narrow_copy.default", complex)]
fn narrow(cx: &mut Lower, x: Value, dim: Axis, start: SymInt, length: SymInt) -> Res<Value> {
    Ok(narrowed(cx, x, dim.0, start, length))
}

/// As `narrow` with a 0-d tensor as start.
#[lowering("aten.narrow.Tensor")]
fn narrow_tensor(cx: &mut Lower, x: Value, dim: Axis, start: Value, length: SymInt) -> Res<Value> {
    let start = cx.cast(start, DType::I64);
    let start = cx.reshape(start, &[1]);
    Ok(narrowed(cx, x, dim.0, SymInt::Value(start), length))
}

/// `self` at `index` of axis `dim`, which vanishes.
#[lowering("aten.select.int", "aten.select_copy.int", complex)]
fn select(cx: &mut Lower, x: Value, dim: Axis, index: SymInt) -> Res<Value> {
    let index = cx.sym_int_scalar(&index);
    Ok(cx.gather(x, index, dim.0 as i64))
}
