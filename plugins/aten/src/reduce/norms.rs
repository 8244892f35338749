//! Norms of vectors and matrices.

use onnxport_sdk::prelude::*;

use super::extremes::extreme;
use super::{axes_of, reduce};
use crate::linalg::singular_values;
use crate::support::full;

/// `sum(|x|^p)^(1/p)` over `axes` (all, where there are none), with the limits for 0 and infinity.
pub(crate) fn vector_norm(cx: &Lower, x: Value, p: f64, axes: &[i64], keepdim: bool) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if p == 1.0 || p == 2.0 {
        let op = if p == 1.0 { op::ReduceL1.named() } else { op::ReduceL2.named() };
        return reduce(cx, op, x, axes, keepdim);
    }
    if p == 0.0 {
        return reduce(cx, op::ReduceSum, cx.cast(cx.cast(x, DType::Bool), dtype), axes, keepdim);
    }
    let magnitude = cx.abs(x);
    if p.is_infinite() {
        return extreme(
            cx,
            if p > 0.0 { op::ReduceMax.named() } else { op::ReduceMin.named() },
            magnitude,
            axes,
            keepdim,
        );
    }
    if cx.rank(x)? == 0 {
        return Ok(magnitude);
    }
    let (power, root) = (cx.float(p, dtype), cx.float(1.0 / p, dtype));
    Ok(cx.pow(reduce(cx, op::ReduceSum, cx.pow(magnitude, power), axes, keepdim)?, root))
}

/// The norm of order `ord` over `dim`, computed in the type of the result.
#[lowering("aten.linalg_vector_norm.default")]
fn linalg_vector_norm(cx: &Lower, x: Value, ord: f64, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    vector_norm(cx, widened(cx, x)?, ord, &axes_of(dim.as_ref()), keepdim)
}

/// The p-norm over `dim`; 2 by default.
#[lowering(
    "aten.norm.Scalar",
    "aten.norm.ScalarOpt_dim",
    "aten.norm.ScalarOpt_dim_dtype",
    "aten.norm.ScalarOpt_dtype",
    "aten.frobenius_norm.dim"
)]
fn norm(cx: &Lower, x: Value, p: Option<f64>, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    vector_norm(cx, widened(cx, x)?, p.unwrap_or(2.0), &axes_of(dim.as_ref()), keepdim)
}

/// `norm(a - b, p)`.
#[lowering("aten.dist.default")]
fn dist(cx: &Lower, a: Value, b: Value, p: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    vector_norm(cx, cx.cast(a, dtype) - cx.cast(b, dtype), p, &[], false)
}

/// A vector norm, or a matrix norm where `ord` is given and two axes are meant.
#[lowering("aten.linalg_norm.default")]
fn linalg_norm(cx: &Lower, x: Value, ord: Option<f64>, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    let x = widened(cx, x)?;
    let axes = axes_of(dim.as_ref());
    let meant = dim.as_ref().map_or(cx.rank(x)?, |d| d.0.len());
    match ord {
        Some(ord) if meant == 2 => matrix_norm(cx, x, ord, &axes, keepdim),
        _ => vector_norm(cx, x, ord.unwrap_or(2.0), &axes, keepdim),
    }
}

/// A matrix norm of numeric order: the largest or smallest sum of magnitudes along an axis.
#[lowering("aten.linalg_matrix_norm.default")]
fn linalg_matrix_norm(cx: &Lower, x: Value, ord: f64, dim: Axes, keepdim: bool) -> Res<Value> {
    matrix_norm(cx, widened(cx, x)?, ord, &dim.ints(), keepdim)
}

/// A matrix norm that has a name.
#[lowering("aten.linalg_matrix_norm.str_ord", "aten.linalg_norm.ord_str")]
fn named_norm(cx: &Lower, x: Value, ord: Str, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    named_matrix_norm(cx, widened(cx, x)?, ord.0, &axes_of(dim.as_ref()), keepdim)
}

/// The Frobenius norm, or the sum of the singular values, over `axes`.
pub(crate) fn named_matrix_norm(cx: &Lower, x: Value, ord: &str, axes: &[i64], keepdim: bool) -> Res<Value> {
    match ord {
        "fro" => reduce(cx, op::ReduceL2, x, axes, keepdim),
        "nuc" => of_singular_values(cx, op::ReduceSum, x, axes, keepdim),
        other => Err(format!("the matrix norm of `ord` {other:?} is not known").into()),
    }
}

/// The largest or smallest sum of magnitudes along one of two axes, or singular value.
pub(crate) fn matrix_norm(cx: &Lower, x: Value, ord: f64, axes: &[i64], keepdim: bool) -> Res<Value> {
    let (rows, columns) = match axes {
        [rows, columns] => (*rows, *columns),
        _ => (0, 1),
    };
    let (summed, compared) = if ord.abs() == 1.0 { (rows, columns) } else { (columns, rows) };
    if ord.abs() == 2.0 {
        let op = if ord > 0.0 { op::ReduceMax.named() } else { op::ReduceMin.named() };
        return of_singular_values(cx, op, x, axes, keepdim);
    }
    if ord.abs() != 1.0 && !ord.is_infinite() {
        return Err(format!("the matrix norm of `ord` {ord} is not known").into());
    }
    let sums = reduce(cx, op::ReduceL1, x, &[summed], keepdim)?;
    let compared = if keepdim || compared < summed { compared } else { compared - 1 };
    extreme(
        cx,
        if ord > 0.0 { op::ReduceMax.named() } else { op::ReduceMin.named() },
        sums,
        &[compared],
        keepdim,
    )
}

/// A reduction of the singular values of the matrices that lie in two axes.
fn of_singular_values(
    cx: &Lower,
    op: impl Operator<'static>,
    x: Value,
    axes: &[i64],
    keepdim: bool,
) -> Res<Value> {
    let rank = cx.rank(x)?;
    let (rows, columns) = match axes {
        [] if rank == 2 => (0, 1),
        [rows, columns] => (cx.axis(*rows, rank)?, cx.axis(*columns, rank)?),
        _ => return Err("a matrix norm needs two axes".into()),
    };
    if cx.dim(x, rows).is(0) || cx.dim(x, columns).is(0) {
        let result = cx.result(0)?;
        return Ok(full(cx, &result.shape, &Scalar::Int(0), result.dtype));
    }
    let others = (0..rank).filter(|axis| *axis != rows && *axis != columns);
    let perm: Vec<usize> = others.chain([rows, columns]).collect();
    let values = singular_values(cx, cx.transpose(x, &perm).into())?;
    let norm = reduce(cx, op, values, &[-1], false)?;
    let (first, last) = (rows.min(columns) as i64, rows.max(columns) as i64);
    Ok(if keepdim { cx.unsqueeze(norm, &[first, last]) } else { norm })
}

/// `x` in the type of the result.
fn widened(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.cast(x, dtype))
}
