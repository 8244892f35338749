//! Quantiles: elements at a fraction of the sorted order, or between two of them.

use onnxport_sdk::prelude::*;

use super::order::{top, whole};

/// The quantiles `q` along `dim`, or of all elements; NaN for slices that hold NaN.
#[lowering("aten.quantile.default", "aten.quantile.scalar")]
fn quantile(cx: &Lower, x: Value, q: Operand, dim: Option<Axis>, interpolation: Str) -> Res<Value> {
    quantiles(cx, x, &q, dim, interpolation.0, false)
}

/// The quantiles `q` along `dim`, or of all elements, other than NaN.
#[lowering("aten.nanquantile.default", "aten.nanquantile.scalar")]
fn nanquantile(cx: &Lower, x: Value, q: Operand, dim: Option<Axis>, interpolation: Str) -> Res<Value> {
    quantiles(cx, x, &q, dim, interpolation.0, true)
}

fn quantiles(
    cx: &Lower,
    x: Value,
    q: &Operand,
    dim: Option<Axis>,
    interpolation: &str,
    without_nan: bool,
) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let q = cx.operand(q, dtype);
    let is_list = cx.rank(q)? > 0;
    // The slices, along the last axis.
    let x = match dim {
        Some(Axis(axis)) if cx.rank(x)? > 1 => {
            let rank = cx.rank(x)?;
            let order: Vec<usize> = (0..rank).filter(|i| *i != axis).chain([axis]).collect();
            cx.transpose(x, &order)
        }
        _ => cx.reshape(x, &[-1]),
    };
    let rank = cx.rank(x)?;
    let last = rank - 1;
    let (sorted, _) = top(cx, x, whole(cx, x, last)?, last, false)?;
    let nan = cx.is_nan(x);
    // NaN is sorted last.
    let count = if without_nan {
        cx.reduce(op::ReduceSum, cx.cast(!nan, DType::I64), &[-1], true)
    } else {
        cx.extent(x, last)
    };
    // PyTorch multiplies in f64, so that a product is seldom a whole number.
    let q = cx.cast(cx.reshape(q, &[-1]), DType::F64);
    let place = cx.max(q * cx.cast(count - 1i64, DType::F64), 0.0);
    let at = |place: Value| {
        let index = cx.cast(place, DType::I64);
        if without_nan {
            cx.op(op::GatherElements).input(sorted).input(index).axis(-1).one()
        } else {
            cx.gather(sorted, index, -1)
        }
    };
    let below = cx.floor(place);
    let between = |part: Value| {
        let low = at(below);
        low + (at(cx.op(op::Ceil).input(place).one()) - low) * part
    };
    let y = match interpolation {
        "linear" => between(cx.cast(place - below, dtype)),
        "midpoint" => between(cx.float(0.5, dtype)),
        "lower" => at(below),
        "higher" => at(cx.op(op::Ceil).input(place).one()),
        "nearest" => at(cx.op(op::Round).input(place).one()),
        other => return Err(format!("the argument `interpolation` is {other:?}").into()),
    };
    let y = if without_nan {
        y
    } else {
        cx.select(
            cx.cast(cx.reduce(op::ReduceMax, cx.cast(nan, DType::U8), &[-1], true), DType::Bool),
            f64::NAN,
            y,
        )
    };
    let y = if is_list { cx.transpose(y, &[last].into_iter().chain(0..last).collect::<Vec<_>>()) } else { y };
    cx.reshape_to_result(y, 0)
}
