//! Losses of numbers: distances, margins, likelihoods of single events.

use onnxport_sdk::prelude::*;

use super::Reduction;
use crate::activation::log_one_plus_exp;
use crate::pointwise::log1p_of;
use crate::support::{scaled, shifted};

/// Both operands in the type of the result.
fn pair(cx: &Lower, a: Value, b: Value) -> Res<(Value, Value, DType)> {
    let dtype = cx.result(0)?.dtype;
    Ok((cx.cast(a, dtype), cx.cast(b, dtype), dtype))
}

/// `(self - target)^2`.
#[lowering("aten.mse_loss.default")]
fn mse_loss(cx: &Lower, a: Value, b: Value, reduction: i64) -> Res<Value> {
    let (a, b, _) = pair(cx, a, b)?;
    let distance = a - b;
    Ok(Reduction::read(reduction)?.of(cx, distance * distance))
}

/// `|self - target|`.
#[lowering("aten.l1_loss.default")]
fn l1_loss(cx: &Lower, a: Value, b: Value, reduction: i64) -> Res<Value> {
    let (a, b, _) = pair(cx, a, b)?;
    Ok(Reduction::read(reduction)?.of(cx, cx.abs(a - b)))
}

/// `m * (d - m / 2)` with `d = |a - b|` and `m = min(d, delta)`: a parabola that goes on straight.
fn parabola(cx: &Lower, a: Value, b: Value, delta: f64) -> Value {
    let size = cx.abs(a - b);
    let inside = cx.min(size, delta);
    inside * (size - inside * 0.5)
}

/// `d^2 / 2` for `d = |self - target|` up to `delta`, else `delta * (d - delta / 2)`.
#[lowering("aten.huber_loss.default")]
fn huber_loss(cx: &Lower, a: Value, b: Value, reduction: i64, delta: f64) -> Res<Value> {
    let (a, b, _) = pair(cx, a, b)?;
    Ok(Reduction::read(reduction)?.of(cx, parabola(cx, a, b, delta)))
}

/// The Huber loss divided by `beta`; for 0 it is the distance.
#[lowering("aten.smooth_l1_loss.default")]
fn smooth_l1_loss(cx: &Lower, a: Value, b: Value, reduction: i64, beta: f64) -> Res<Value> {
    if beta == 0.0 {
        return l1_loss(cx, a, b, reduction);
    }
    let (a, b, _) = pair(cx, a, b)?;
    Ok(Reduction::read(reduction)?.of(cx, scaled(parabola(cx, a, b, beta), 1.0 / beta)))
}

/// `losses * weight`, where there is a weight.
fn weighted(cx: &Lower, losses: Value, weight: Option<Value>, dtype: DType) -> Value {
    match weight {
        Some(weight) => losses * cx.cast(weight, dtype),
        None => losses,
    }
}

/// `-(t * log(x) + (1 - t) * log(1 - x))`, the logarithms at least -100.
#[lowering("aten.binary_cross_entropy.default")]
fn bce(cx: &Lower, a: Value, b: Value, weight: Option<Value>, reduction: i64) -> Res<Value> {
    let (x, target, dtype) = pair(cx, a, b)?;
    let least = cx.float(-100.0, dtype);
    let mut logs = Vec::with_capacity(2);
    for p in [x, 1.0 - x] {
        logs.push(cx.max(cx.log(p), least));
    }
    let [positive, negative] = logs[..] else { return Err("the loss has two logarithms".into()) };
    // t * (negative - positive) - negative
    let difference = negative - positive;
    Ok(Reduction::read(reduction)?.of(cx, weighted(cx, target * difference - negative, weight, dtype)))
}

/// `log(1 + exp(x)) - t * x`; with `pos_weight` `(1 - t) * x + (1 + (p - 1) * t) * log(1 + exp(-x))`.
#[lowering("aten.binary_cross_entropy_with_logits.default")]
fn bce_with_logits(
    cx: &Lower,
    a: Value,
    b: Value,
    weight: Option<Value>,
    pos_weight: Option<Value>,
    reduction: i64,
) -> Res<Value> {
    let (x, target, dtype) = pair(cx, a, b)?;
    let losses = if let Some(positive) = pos_weight {
        let positive = cx.cast(positive, dtype);
        let (minus, rest) = (-x, 1.0 - target);
        let log = log_one_plus_exp(cx, minus, dtype);
        rest * x + (shifted(positive, -1.0) * target + 1.0) * log
    } else {
        // In this order an infinite `x` is not multiplied by 0.
        (1.0 - target) * x + log_one_plus_exp(cx, -x, dtype)
    };
    Ok(Reduction::read(reduction)?.of(cx, weighted(cx, losses, weight, dtype)))
}

/// `t * (log(t) - x)`, and 0 where `t` is 0; with `log_target` `exp(t) * (t - x)`.
#[lowering("aten.kl_div.default")]
fn kl_div(cx: &Lower, a: Value, b: Value, reduction: i64, log_target: bool) -> Res<Value> {
    let (x, target, _) = pair(cx, a, b)?;
    let losses = if log_target {
        cx.exp(target) * (target - x)
    } else {
        let entropy = target * cx.log(target);
        cx.select(cx.equal(target, 0.0), 0.0, entropy) - target * x
    };
    Ok(Reduction::read(reduction)?.of(cx, losses))
}

/// `log(1 + exp(-t * x))`.
#[lowering("aten.soft_margin_loss.default")]
fn soft_margin_loss(cx: &Lower, a: Value, b: Value, reduction: i64) -> Res<Value> {
    let (x, target, dtype) = pair(cx, a, b)?;
    // Infinite where the exponential is, as PyTorch's.
    let losses = log1p_of(cx, cx.exp(-(x * target)), dtype);
    Ok(Reduction::read(reduction)?.of(cx, losses))
}

/// `max(0, t * (input2 - input1) + margin)`.
#[lowering("aten.margin_ranking_loss.default")]
fn margin_ranking_loss(
    cx: &Lower,
    a: Value,
    b: Value,
    target: Value,
    margin: f64,
    reduction: i64,
) -> Res<Value> {
    if matches!(cx.dtype(a)?, DType::U8 | DType::U16 | DType::U32 | DType::U64) {
        return Err("PyTorch wraps the losses of unsigned integers around".into());
    }
    let (a, b, dtype) = pair(cx, a, b)?;
    Ok(Reduction::read(reduction)?.of(cx, cx.relu(shifted(cx.cast(target, dtype) * (b - a), margin))))
}

/// `x` where `t` is 1 and `max(0, margin - x)` where it is -1.
#[lowering("aten.hinge_embedding_loss.default")]
fn hinge_embedding_loss(cx: &Lower, a: Value, b: Value, margin: f64, reduction: i64) -> Res<Value> {
    let (x, target, dtype) = pair(cx, a, b)?;
    let (one, minus_one) = (cx.float(1.0, dtype), cx.float(-1.0, dtype));
    let (margin, zero) = (cx.float(margin, dtype), cx.float(0.0, dtype));
    let (rest, similar, other) = (margin - x, cx.equal(target, one), cx.equal(target, minus_one));
    let rest = cx.relu(rest);
    // Each part is left out only where the target is the other's.
    let (near, far) = (cx.select(other, zero, x), cx.select(similar, zero, rest));
    Ok(Reduction::read(reduction)?.of(cx, near + far))
}

/// `exp(x) - t * x`, or `x - t * log(x + eps)` without `log_input`; `full` adds Stirling's
/// approximation of `log(t!)`, `t * log(t) - t + log(2 pi t) / 2`, where `t` is above 1.
#[lowering("aten.poisson_nll_loss.default")]
fn poisson_nll_loss(
    cx: &Lower,
    a: Value,
    b: Value,
    log_input: bool,
    full: bool,
    eps: f64,
    reduction: i64,
) -> Res<Value> {
    let (x, target, dtype) = pair(cx, a, b)?;
    let (rate, log) = if log_input { (cx.exp(x), x) } else { (x, cx.log(shifted(x, eps))) };
    let mut losses = rate - target * log;
    if full {
        let (log, one, zero) = (cx.log(target), cx.float(1.0, dtype), cx.float(0.0, dtype));
        // (t + 1/2) * log(t) - t + log(2 pi) / 2
        let exponent = target + 0.5;
        let growth = shifted(exponent * log - target, 0.5 * (2.0 * std::f64::consts::PI).ln());
        losses = losses + cx.select(cx.greater(target, one), growth, zero);
    }
    Ok(Reduction::read(reduction)?.of(cx, losses))
}
