//! Sums, products and means.

use onnxport_sdk::prelude::*;

use super::{axes_of, reduce};

/// The sum over `dim`, in the type that the program states: i64 for integers and truth values.
#[lowering("aten.sum.default", "aten.sum.dim_IntList")]
fn sum(cx: &mut Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    total(cx, "ReduceSum", x, dim.as_ref(), keepdim)
}

/// The product over `dim`, in the type that the program states.
#[lowering("aten.prod.default", "aten.prod.dim_int")]
fn prod(cx: &mut Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    total(cx, "ReduceProd", x, dim.as_ref(), keepdim)
}

/// The mean over `dim`.
#[lowering("aten.mean.default", "aten.mean.dim")]
fn mean(cx: &mut Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    total(cx, "ReduceMean", x, dim.as_ref(), keepdim)
}

/// The sum over `dim` of what is not NaN.
#[lowering("aten.nansum.default")]
fn nansum(cx: &mut Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    let (x, _) = without_nan(cx, x)?;
    total(cx, "ReduceSum", x, dim.as_ref(), keepdim)
}

/// The mean over `dim` of what is not NaN.
#[lowering("aten.nanmean.default")]
fn nanmean(cx: &mut Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (clean, missing) = without_nan(cx, x)?;
    let Some(missing) = missing else {
        return total(cx, "ReduceMean", x, dim.as_ref(), keepdim);
    };
    let sum = total(cx, "ReduceSum", clean, dim.as_ref(), keepdim)?;
    let present = cx.not(missing);
    let present = total(cx, "ReduceSum", present, dim.as_ref(), keepdim)?;
    let present = cx.cast(present, dtype);
    Ok(cx.div(sum, present))
}

/// How many elements are not zero.
#[lowering("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList")]
fn count_nonzero(cx: &mut Lower, x: Value, dim: Option<Axes>) -> Res<Value> {
    let set = cx.cast(x, DType::Bool);
    total(cx, "ReduceSum", set, dim.as_ref(), false)
}

/// The trapezoidal rule over samples `dx` apart: `sum((y[1:] + y[:-1]) * dx / 2)`.
#[lowering("aten.trapezoid.dx", "aten.trapz.dx", "aten.cumulative_trapezoid.dx")]
fn trapezoid_dx(cx: &mut Lower, this: Value, dx: Scalar, dim: Axis) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    // PyTorch adds before it casts, so that bytes wrap around.
    let (head, tail) = ends(cx, this, dim.0 as i64);
    let sum = cx.add(head, tail);
    let sum = cx.cast(sum, dtype);
    let half = match dx.as_f64() {
        Some(dx) => cx.float(dx / 2.0, dtype),
        None => return Err("a symbolic `dx` is not supported".into()),
    };
    let areas = cx.mul(sum, half);
    trapezoids(cx, areas, dim.0 as i64)
}

/// The trapezoidal rule over samples at `x`: `sum((y[1:] + y[:-1]) * (x[1:] - x[:-1]) / 2)`.
#[lowering("aten.trapezoid.x", "aten.trapz.x", "aten.cumulative_trapezoid.x")]
fn trapezoid_x(cx: &mut Lower, y: Value, x: Value, dim: Axis) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let own = cx.promoted(&[Operand::Tensor(y), Operand::Tensor(x)])?;
    let own = if own.is_float() { dtype } else { own };
    let (y, mut x) = (cx.cast(y, own), cx.cast(x, own));
    let (rank, axis) = (cx.rank(y)? as i64, dim.0 as i64);
    if cx.rank(x)? == 1 {
        // The samples' places lie along `dim`.
        let after: Vec<i64> = (1..rank - axis).collect();
        x = cx.unsqueeze(x, &after);
    }
    let along = axis - rank + cx.rank(x)? as i64;
    let ((head, tail), (left, right)) = (ends(cx, y, axis), ends(cx, x, along));
    let (sum, width) = (cx.add(head, tail), cx.sub(right, left));
    let area = cx.mul(sum, width);
    let area = cx.cast(area, dtype);
    let half = cx.float(0.5, dtype);
    let areas = cx.mul(area, half);
    trapezoids(cx, areas, axis)
}

fn trapezoids(cx: &mut Lower, areas: Value, axis: i64) -> Res<Value> {
    if cx.target().starts_with("aten.cumulative") {
        let axis = cx.int(axis);
        return Ok(cx.op("CumSum").input(areas).input(axis).one());
    }
    reduce(cx, "ReduceSum", areas, &[axis], false)
}

/// All but the last and all but the first along `axis`.
pub(super) fn ends(cx: &mut Lower, x: Value, axis: i64) -> (Value, Value) {
    (cx.slice(x, axis, 0, -1, 1), cx.slice(x, axis, 1, i64::MAX, 1))
}

/// `x` in the type of the result, reduced.
fn total(cx: &mut Lower, op: &str, x: Value, dim: Option<&Axes>, keepdim: bool) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let axes = axes_of(dim);
    let x = cx.cast(x, dtype);
    if dtype == DType::Bool {
        return Err("the argument `dtype` asks for a sum of truth values as one".into());
    }
    reduce(cx, op, x, &axes, keepdim)
}

/// `x` with zeros for NaN, and where they were; a type without NaN is left alone.
fn without_nan(cx: &mut Lower, x: Value) -> Res<(Value, Option<Value>)> {
    let dtype = cx.dtype(x)?;
    if dtype.kind() != Kind::Float {
        return Ok((x, None));
    }
    let nan = cx.is_nan(x);
    let zero = cx.float(0.0, dtype);
    Ok((cx.select(nan, zero, x), Some(nan)))
}
