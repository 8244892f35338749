//! Comparisons, and the larger and smaller of two.

use onnxport_sdk::prelude::*;

use crate::support::{defined_type, extreme, saturated, select};

/// A comparison in the type that PyTorch promotes the operands to.
pub(crate) fn compare(cx: &Lower, op: impl Operator<'static>, a: &Operand, b: &Operand) -> Res<Value> {
    let dtype = cx.promoted(&[*a, *b])?;
    let dtype = defined_type(cx, op, dtype);
    Ok(cx.op(op).input(cx.operand(a, dtype)).input(cx.operand(b, dtype)).one())
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident $op:ident $($target:literal)+;)*) => {
        $($(#[$doc])* #[lowering($($target),+)]
        fn $name(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
            compare(cx, op::$op, &a, &b)
        })*
    };
}

comparisons! {
    /// `self < other`.
    lt Less "aten.lt.Tensor" "prims.lt.default" "aten.lt.Scalar" "aten.less.Tensor" "aten.less.Scalar";
    /// `self <= other`.
    le LessOrEqual "aten.le.Tensor" "prims.le.default" "aten.le.Scalar" "aten.less_equal.Tensor" "aten.less_equal.Scalar";
    /// `self > other`.
    gt Greater "aten.gt.Tensor" "prims.gt.default" "aten.gt.Scalar" "aten.greater.Tensor" "aten.greater.Scalar";
    /// `self >= other`.
    ge GreaterOrEqual "aten.ge.Tensor" "prims.ge.default" "aten.ge.Scalar" "aten.greater_equal.Tensor" "aten.greater_equal.Scalar";
}

/// Whether the operands are a truth value tensor and a constant, and which.
fn against_truth(cx: &Lower, a: &Operand, b: &Operand) -> Option<(Value, bool)> {
    match (a, b) {
        (Operand::Tensor(x), Operand::Number(n)) if cx.dtype(*x) == Ok(DType::Bool) => {
            if n.is(0.0) {
                Some((*x, false))
            } else {
                n.is(1.0).then_some((*x, true))
            }
        }
        _ => None,
    }
}

/// `self == other`.
#[lowering("aten.eq.Tensor", "prims.eq.default", "aten.eq.Scalar")]
fn eq(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    match against_truth(cx, &a, &b) {
        Some((x, true)) => Ok(x),
        Some((x, false)) => Ok(!x),
        None => compare(cx, op::Equal, &a, &b),
    }
}

/// `self != other`; with zero it is the cast to a truth value.
#[lowering(
    "aten.ne.Tensor",
    "prims.ne.default",
    "aten.ne.Scalar",
    "aten.not_equal.Tensor",
    "aten.not_equal.Scalar"
)]
fn ne(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    if let Some((x, truth)) = against_truth(cx, &a, &b) {
        return Ok(if truth { !x } else { x });
    }
    if let (Operand::Tensor(x), Operand::Number(n)) = (a, b)
        && n.is(0.0)
    {
        return Ok(cx.cast(x, DType::Bool));
    }
    Ok(!compare(cx, op::Equal, &a, &b)?)
}

/// The larger of two; NaN if either is.
#[lowering("aten.maximum.default", "prims.maximum.default", "aten.max.other")]
fn maximum(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(extreme(cx, op::Max, cx.cast(a, dtype), cx.cast(b, dtype), dtype))
}

/// The smaller of two; NaN if either is.
#[lowering("aten.minimum.default", "prims.minimum.default", "aten.min.other")]
fn minimum(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(extreme(cx, op::Min, cx.cast(a, dtype), cx.cast(b, dtype), dtype))
}

/// `Max` or `Min` of two, where a number wins over NaN.
fn number_wins(cx: &Lower, op: impl Operator<'static>, a: Value, b: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b) = (cx.cast(a, dtype), cx.cast(b, dtype));
    let both = extreme(cx, op, a, b, dtype);
    if !dtype.is_float() {
        return Ok(both);
    }
    Ok(select(cx, cx.is_nan(a), b, select(cx, cx.is_nan(b), a, both, dtype), dtype))
}

/// The larger of two; NaN only if both are.
#[lowering("aten.fmax.default", "prims.fmax.default")]
fn fmax(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    number_wins(cx, op::Max, a, b)
}

/// The smaller of two; NaN only if both are.
#[lowering("aten.fmin.default", "prims.fmin.default")]
fn fmin(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    number_wins(cx, op::Min, a, b)
}

/// `min(max(x, low), high)`, where either bound may be absent. A lone bound is `Max` or `Min`, since
/// the other one of a `Clip` is by default the last finite number. ONNX Runtime does not load a `Clip` of f64 behind a `Relu`.
fn bounded(cx: &Lower, x: Value, low: Option<Operand>, high: Option<Operand>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let mut x = cx.cast(x, dtype);
    let within = |bound: Operand| match bound {
        Operand::Number(n) => Operand::Number(saturated(n, dtype)),
        tensor @ Operand::Tensor(_) => tensor,
    };
    let (low, high) = (low.map(within), high.map(within));
    let is_constant = |o: &Operand| matches!(o, Operand::Number(n) if !matches!(n, Scalar::Sym(_)));
    if let (Some(low), Some(high)) = (&low, &high)
        && is_constant(low)
        && is_constant(high)
        && !matches!(dtype, DType::Bool | DType::F64)
    {
        let (low, high) = (cx.operand(low, dtype), cx.operand(high, dtype));
        return Ok(cx.clip(x, Some(low), Some(high)));
    }
    if high.is_none() && dtype.is_float() && matches!(low, Some(Operand::Number(n)) if n.is(0.0)) {
        return Ok(cx.relu(x));
    }
    if let Some(low) = low {
        x = extreme(cx, op::Max, x, cx.operand(&low, dtype), dtype);
    }
    if let Some(high) = high {
        x = extreme(cx, op::Min, x, cx.operand(&high, dtype), dtype);
    }
    Ok(x)
}

/// `min(max(self, min), max)`.
#[lowering("aten.clamp.default", "aten.clamp.Tensor", "aten.clip.default", "aten.clip.Tensor")]
fn clamp(cx: &Lower, x: Value, min: Option<Operand>, max: Option<Operand>) -> Res<Value> {
    bounded(cx, x, min, max)
}

/// `max(self, min)`.
#[lowering("aten.clamp_min.default", "aten.clamp_min.Tensor")]
fn clamp_min(cx: &Lower, x: Value, min: Operand) -> Res<Value> {
    bounded(cx, x, Some(min), None)
}

/// `min(self, max)`.
#[lowering("aten.clamp_max.default", "aten.clamp_max.Tensor")]
fn clamp_max(cx: &Lower, x: Value, max: Operand) -> Res<Value> {
    bounded(cx, x, None, Some(max))
}
