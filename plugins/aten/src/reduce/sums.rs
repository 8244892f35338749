//! Sums, products and means.

use onnxport_sdk::prelude::*;

use super::{axes_of, reduce};

/// The sum over `dim`, in the type that the program states: i64 for integers and truth values.
#[lowering("aten.sum.default", "aten.sum.dim_IntList", parts)]
fn sum(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    total(cx, op::ReduceSum, x, dim.as_ref(), keepdim)
}

/// The product over `dim`, in the type that the program states.
#[lowering("aten.prod.default", "aten.prod.dim_int")]
fn prod(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    total(cx, op::ReduceProd, x, dim.as_ref(), keepdim)
}

/// The product over `dims`.
#[lowering("prims.prod.default")]
fn prims_prod(cx: &Lower, inp: Value, dims: Option<Axes>) -> Res<Value> {
    total(cx, op::ReduceProd, inp, dims.as_ref(), false)
}

/// The mean over `dim`.
#[lowering("aten.mean.default", "aten.mean.dim", parts)]
fn mean(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    total(cx, op::ReduceMean, x, dim.as_ref(), keepdim)
}

/// The sum over `dim` of elements other than NaN.
#[lowering("aten.nansum.default")]
fn nansum(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    let (x, _) = without_nan(cx, x)?;
    total(cx, op::ReduceSum, x, dim.as_ref(), keepdim)
}

/// The mean over `dim` of elements other than NaN.
#[lowering("aten.nanmean.default")]
fn nanmean(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (clean, missing) = without_nan(cx, x)?;
    let Some(missing) = missing else {
        return total(cx, op::ReduceMean, x, dim.as_ref(), keepdim);
    };
    let sum = total(cx, op::ReduceSum, clean, dim.as_ref(), keepdim)?;
    Ok(sum / cx.cast(total(cx, op::ReduceSum, !missing, dim.as_ref(), keepdim)?, dtype))
}

/// The sum over the axes that `size` lacks, and over those where it is 1.
#[lowering("aten.sum_to_size.default")]
fn sum_to_size(cx: &Lower, x: Value, size: Vec<SymInt>) -> Res<Value> {
    let shape = cx.shape(x)?;
    let new = shape.len().checked_sub(size.len()).ok_or("the argument `size` has too many axes")?;
    let is_summed = |(i, extent): (usize, &Dim)| {
        let one = i.checked_sub(new).is_none_or(|i| size.get(i).and_then(SymInt::as_const) == Some(1));
        (one && !(i >= new && extent.is(1))).then_some(i as i64)
    };
    let axes: Vec<i64> = shape.iter().enumerate().filter_map(is_summed).collect();
    // i64 for integers and truth values, as in `sum`.
    let x = cx.cast(x, cx.result(0)?.dtype);
    if axes.is_empty() {
        return Ok(x);
    }
    let sums = reduce(cx, op::ReduceSum, x, &axes, true)?;
    let first: Vec<i64> = (0..new as i64).collect();
    Ok(if first.is_empty() { sums } else { cx.squeeze(sums, &first) })
}

/// How many elements are not zero.
#[lowering("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList")]
fn count_nonzero(cx: &Lower, x: Value, dim: Option<Axes>) -> Res<Value> {
    total(cx, op::ReduceSum, cx.cast(x, DType::Bool), dim.as_ref(), false)
}

/// The trapezoidal rule over samples `dx` apart: `sum((y[1:] + y[:-1]) * dx / 2)`.
#[lowering("aten.trapezoid.dx", "aten.trapz.dx", "aten.cumulative_trapezoid.dx")]
fn trapezoid_dx(cx: &Lower, this: Value, dx: Scalar, dim: Axis) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    // PyTorch adds before it casts, so that bytes wrap around.
    let (head, tail) = ends(cx, this, dim.0 as i64);
    let sum = cx.cast(head + tail, dtype);
    let half = match dx.as_f64() {
        Some(dx) => cx.float(dx / 2.0, dtype),
        None => return Err("a symbolic `dx` is not supported".into()),
    };
    trapezoids(cx, sum * half, dim.0 as i64)
}

/// The trapezoidal rule over samples at `x`: `sum((y[1:] + y[:-1]) * (x[1:] - x[:-1]) / 2)`.
#[lowering("aten.trapezoid.x", "aten.trapz.x", "aten.cumulative_trapezoid.x")]
fn trapezoid_x(cx: &Lower, y: Value, x: Value, dim: Axis) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let own = cx.promoted(&[Operand::Tensor(y), Operand::Tensor(x)])?;
    let own = if own.is_float() { dtype } else { own };
    let (y, mut x) = (cx.cast(y, own), cx.cast(x, own));
    let (rank, axis) = (cx.rank(y)? as i64, dim.0 as i64);
    if cx.rank(x)? == 1 {
        // The samples' positions lie along `dim`.
        let after: Vec<i64> = (1..rank - axis).collect();
        x = cx.unsqueeze(x, &after);
    }
    let along = axis - rank + cx.rank(x)? as i64;
    let ((head, tail), (left, right)) = (ends(cx, y, axis), ends(cx, x, along));
    trapezoids(cx, cx.cast((head + tail) * (right - left), dtype) * 0.5, axis)
}

fn trapezoids(cx: &Lower, areas: Value, axis: i64) -> Res<Value> {
    if cx.target().starts_with("aten.cumulative") {
        return Ok(cx.op(op::CumSum).input(areas).input(cx.int(axis)).one());
    }
    reduce(cx, op::ReduceSum, areas, &[axis], false)
}

/// All but the last and all but the first along `axis`.
pub(super) fn ends(cx: &Lower, x: Value, axis: i64) -> (Value, Value) {
    (cx.slice(x, axis, 0, -1, 1), cx.slice(x, axis, 1, i64::MAX, 1))
}

/// `x` in the type of the result, reduced.
fn total(cx: &Lower, op: impl Operator<'static>, x: Value, dim: Option<&Axes>, keepdim: bool) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let axes = axes_of(dim);
    let x = cx.cast(x, dtype);
    if dtype == DType::Bool {
        return Err("the argument `dtype` requests a boolean sum".into());
    }
    reduce(cx, op, x, &axes, keepdim)
}

/// `x` with zeros for NaN, and where they were; a type without NaN is left alone.
fn without_nan(cx: &Lower, x: Value) -> Res<(Value, Option<Value>)> {
    let dtype = cx.dtype(x)?;
    if dtype.kind() != Kind::Float {
        return Ok((x, None));
    }
    let nan = cx.is_nan(x);
    Ok((cx.select(nan, 0.0, x), Some(nan)))
}
