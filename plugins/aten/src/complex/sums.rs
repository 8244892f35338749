//! Sums and products of complex numbers.

use onnxport_sdk::prelude::*;

use super::{paired, part};
use crate::reduce::vector_norm;

/// The sum over `dim`.
#[lowering("aten.sum.default", "aten.sum.dim_IntList", complex)]
fn sum(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    reduced(cx, op::ReduceSum, x, dim, keepdim)
}

/// The mean over `dim`.
#[lowering("aten.mean.default", "aten.mean.dim", complex)]
fn mean(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    reduced(cx, op::ReduceMean, x, dim, keepdim)
}

/// The running sum along `dim`.
#[lowering("aten.cumsum.default", complex)]
fn cumsum(cx: &Lower, x: Value, dim: Axis) -> Res<Value> {
    Ok(cx.op(op::CumSum).input(x).input(cx.int(dim.0 as i64)).one())
}

/// The norm of the sizes over `dim`.
#[lowering("aten.linalg_vector_norm.default", complex)]
fn linalg_vector_norm(cx: &Lower, x: Value, ord: f64, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    let sizes = cx.cast(cx.reduce(op::ReduceL2, x, &[-1], false), cx.result(0)?.dtype);
    vector_norm(cx, sizes, ord, &dim.map(|d| d.ints()).unwrap_or_default(), keepdim)
}

/// The matrix product, part by part.
#[lowering(
    "aten.matmul.default",
    "aten.mm.default",
    "aten.bmm.default",
    "aten.mv.default",
    "aten.dot.default",
    complex
)]
fn product(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    let [a_re, a_im, b_re, b_im] = [part(cx, a, 0), part(cx, a, 1), part(cx, b, 0), part(cx, b, 1)];
    let (straight, crossed) = (cx.matmul(a_re, b_re), cx.matmul(a_im, b_im));
    let (left, right) = (cx.matmul(a_re, b_im), cx.matmul(a_im, b_re));
    Ok(paired(cx, straight - crossed, left + right))
}

/// Over every axis but that of the pair.
fn reduced(cx: &Lower, op: impl Operator<'static>, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    let axes = match dim {
        Some(dim) if !dim.0.is_empty() => dim.ints(),
        _ => (0..cx.rank(x)? as i64 - 1).collect(),
    };
    if axes.is_empty() || cx.rank(x)? == 1 {
        return Ok(x);
    }
    Ok(cx.reduce(op, x, &axes, keepdim))
}
