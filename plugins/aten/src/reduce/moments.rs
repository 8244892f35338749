//! Variances and standard deviations.

use onnxport_sdk::prelude::*;

use super::{axes_of, count, reduce};

/// `sum((x - mean(x))^2) / max(0, n - correction)` over `dim`.
#[lowering("aten.var.default", "aten.var.dim", "aten.var.correction")]
fn var(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    Ok(spread(cx, x, dim.as_ref(), keepdim)?.0)
}

/// The square root of the variance over `dim`.
#[lowering("aten.std.default", "aten.std.dim", "aten.std.correction")]
fn std(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<Value> {
    Ok(spread(cx, x, dim.as_ref(), keepdim)?.0)
}

/// The variance or the standard deviation, and the mean, over `dim`.
#[lowering(
    "aten.var_mean.default",
    "aten.var_mean.dim",
    "aten.var_mean.correction",
    "aten.std_mean.default",
    "aten.std_mean.dim",
    "aten.std_mean.correction"
)]
fn with_mean(cx: &Lower, x: Value, dim: Option<Axes>, keepdim: bool) -> Res<(Value, Value)> {
    let (spread, mean) = spread(cx, x, dim.as_ref(), keepdim)?;
    Ok((spread, cx.reshape_to_result(mean, 1)?))
}

/// The variance (or its root) and the mean, whose axes are kept. The root comes as
/// `|x - mean| / sqrt(n - correction)`.
fn spread(cx: &Lower, x: Value, dim: Option<&Axes>, keepdim: bool) -> Res<(Value, Value)> {
    let root = cx.target().starts_with("aten.std");
    let (dtype, axes, correction) = (cx.result(0)?.dtype, axes_of(dim), correction(cx)?);
    let mean = reduce(cx, op::ReduceMean, x, &axes, true)?;
    let op = if root { op::ReduceL2.named() } else { op::ReduceSumSquare.named() };
    let sum = reduce(cx, op, x - mean, &axes, keepdim)?;
    let divisor = match count(cx, x, &axes, dtype)? {
        Ok(n) => {
            let n = (n as f64 - correction).max(0.0);
            cx.float(if root { n.sqrt() } else { n }, dtype)
        }
        Err(n) => {
            let mut n = n;
            if correction != 0.0 {
                n = cx.max(n - correction, 0.0);
            }
            if root { cx.sqrt(n) } else { n }
        }
    };
    Ok((sum / divisor, mean))
}

/// The argument `correction`, or the value that `unbiased` implies; 1 by default.
fn correction(cx: &Lower) -> Res<f64> {
    if !cx.lookup("unbiased").is_none() {
        return Ok(f64::from(u8::from(cx.argument::<bool>("unbiased")?)));
    }
    match cx.argument::<Option<Scalar>>("correction")? {
        None => Ok(1.0),
        Some(number) => number.as_f64().ok_or_else(|| "a symbolic `correction` is not supported".into()),
    }
}
