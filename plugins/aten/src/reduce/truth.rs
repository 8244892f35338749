//! Quantifiers.

use onnxport_sdk::prelude::*;

use super::{axes_of, reduce};

/// Whether any element over `dim` is not zero.
#[lowering("aten.any.default", "aten.any.dim", "aten.any.dims")]
fn any(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    quantified(cx, op::ReduceMax, x, dim.as_ref(), keepdim)
}

/// Whether no element over `dim` is zero.
#[lowering("aten.all.default", "aten.all.dim", "aten.all.dims")]
fn all(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    quantified(cx, op::ReduceMin, x, dim.as_ref(), keepdim)
}

/// The result is `bool`, or u8 for u8. An empty `dim` reduces nothing.
fn quantified(
    cx: &Lower,
    op: impl Operator<'static>,
    x: Value,
    dim: Option<&Axes>,
    keepdim: bool,
) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let truth = cx.cast(x, DType::Bool);
    let reduced = match dim {
        Some(dim) if dim.0.is_empty() => truth,
        _ => reduce(cx, op, truth, &axes_of(dim), keepdim)?,
    };
    Ok(cx.cast(reduced, dtype))
}
