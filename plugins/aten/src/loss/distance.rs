//! Losses of numbers: distances, margins, likelihoods of single events.

use onnxport_sdk::prelude::*;

use super::Reduction;
use crate::activation::log_one_plus_exp;
use crate::support::{constant, scaled, shifted};

/// Both operands in the type of the result.
fn pair(cx: &mut Lower, a: Value, b: Value) -> Res<(Value, Value, DType)> {
    let dtype = cx.result(0)?.dtype;
    Ok((cx.cast(a, dtype), cx.cast(b, dtype), dtype))
}

/// `(self - target)^2`.
#[lowering("aten.mse_loss.default")]
fn mse_loss(cx: &mut Lower, a: Value, b: Value, reduction: i64) -> Res<Value> {
    let (a, b, _) = pair(cx, a, b)?;
    let distance = cx.sub(a, b);
    let squares = cx.mul(distance, distance);
    Ok(Reduction::read(reduction)?.of(cx, squares))
}

/// `|self - target|`.
#[lowering("aten.l1_loss.default")]
fn l1_loss(cx: &mut Lower, a: Value, b: Value, reduction: i64) -> Res<Value> {
    let (a, b, _) = pair(cx, a, b)?;
    let distance = cx.sub(a, b);
    let size = cx.abs(distance);
    Ok(Reduction::read(reduction)?.of(cx, size))
}

/// `m * (d - m / 2)` with `d = |a - b|` and `m = min(d, delta)`: a parabola that goes on straight.
fn parabola(cx: &mut Lower, a: Value, b: Value, delta: f64, dtype: DType) -> Value {
    let distance = cx.sub(a, b);
    let size = cx.abs(distance);
    let delta = constant(cx, delta, dtype);
    let inside = cx.min(size, delta);
    let half = scaled(cx, inside, 0.5, dtype);
    let rest = cx.sub(size, half);
    cx.mul(inside, rest)
}

/// `d^2 / 2` for `d = |self - target|` up to `delta`, else `delta * (d - delta / 2)`.
#[lowering("aten.huber_loss.default")]
fn huber_loss(cx: &mut Lower, a: Value, b: Value, reduction: i64, delta: f64) -> Res<Value> {
    let (a, b, dtype) = pair(cx, a, b)?;
    let losses = parabola(cx, a, b, delta, dtype);
    Ok(Reduction::read(reduction)?.of(cx, losses))
}

/// The Huber loss divided by `beta`; for 0 it is the distance.
#[lowering("aten.smooth_l1_loss.default")]
fn smooth_l1_loss(cx: &mut Lower, a: Value, b: Value, reduction: i64, beta: f64) -> Res<Value> {
    if beta == 0.0 {
        return l1_loss(cx, a, b, reduction);
    }
    let (a, b, dtype) = pair(cx, a, b)?;
    let losses = parabola(cx, a, b, beta, dtype);
    let losses = scaled(cx, losses, 1.0 / beta, dtype);
    Ok(Reduction::read(reduction)?.of(cx, losses))
}

/// `losses * weight`, where there is a weight.
fn weighted(cx: &mut Lower, losses: Value, weight: Option<Value>, dtype: DType) -> Value {
    match weight {
        Some(weight) => {
            let weight = cx.cast(weight, dtype);
            cx.mul(losses, weight)
        }
        None => losses,
    }
}

/// `1 - x`.
fn complement(cx: &mut Lower, x: Value, dtype: DType) -> Value {
    let one = constant(cx, 1.0, dtype);
    cx.sub(one, x)
}

/// `-(t * log(x) + (1 - t) * log(1 - x))`, the logarithms at least -100.
#[lowering("aten.binary_cross_entropy.default")]
fn bce(cx: &mut Lower, a: Value, b: Value, weight: Option<Value>, reduction: i64) -> Res<Value> {
    let (x, target, dtype) = pair(cx, a, b)?;
    let least = constant(cx, -100.0, dtype);
    let mut logs = Vec::with_capacity(2);
    for p in [x, complement(cx, x, dtype)] {
        let log = cx.log(p);
        logs.push(cx.max(log, least));
    }
    let [positive, negative] = logs[..] else { return Err("the loss has two logarithms".into()) };
    // t * (negative - positive) - negative
    let difference = cx.sub(negative, positive);
    let mixed = cx.mul(target, difference);
    let losses = cx.sub(mixed, negative);
    let losses = weighted(cx, losses, weight, dtype);
    Ok(Reduction::read(reduction)?.of(cx, losses))
}

/// `log(1 + exp(x)) - t * x`; with `pos_weight` `(1 - t) * x + (1 + (p - 1) * t) * log(1 + exp(-x))`.
#[lowering("aten.binary_cross_entropy_with_logits.default")]
fn bce_with_logits(
    cx: &mut Lower,
    a: Value,
    b: Value,
    weight: Option<Value>,
    pos_weight: Option<Value>,
    reduction: i64,
) -> Res<Value> {
    let (x, target, dtype) = pair(cx, a, b)?;
    let losses = if let Some(positive) = pos_weight {
        let positive = cx.cast(positive, dtype);
        let (minus, rest) = (cx.neg(x), complement(cx, target, dtype));
        let (log, linear) = (log_one_plus_exp(cx, minus, dtype), cx.mul(rest, x));
        let extra = shifted(cx, positive, -1.0, dtype);
        let extra = cx.mul(extra, target);
        let factor = shifted(cx, extra, 1.0, dtype);
        let curved = cx.mul(factor, log);
        cx.add(linear, curved)
    } else {
        let (log, linear) = (log_one_plus_exp(cx, x, dtype), cx.mul(target, x));
        cx.sub(log, linear)
    };
    let losses = weighted(cx, losses, weight, dtype);
    Ok(Reduction::read(reduction)?.of(cx, losses))
}

/// `t * (log(t) - x)`, and 0 where `t` is 0; with `log_target` `exp(t) * (t - x)`.
#[lowering("aten.kl_div.default")]
fn kl_div(cx: &mut Lower, a: Value, b: Value, reduction: i64, log_target: bool) -> Res<Value> {
    let (x, target, dtype) = pair(cx, a, b)?;
    let losses = if log_target {
        let (probability, difference) = (cx.exp(target), cx.sub(target, x));
        cx.mul(probability, difference)
    } else {
        let (zero, log) = (constant(cx, 0.0, dtype), cx.log(target));
        let (entropy, impossible) = (cx.mul(target, log), cx.equal(target, zero));
        let (entropy, cross) = (cx.select(impossible, zero, entropy), cx.mul(target, x));
        cx.sub(entropy, cross)
    };
    Ok(Reduction::read(reduction)?.of(cx, losses))
}

/// `log(1 + exp(-t * x))`.
#[lowering("aten.soft_margin_loss.default")]
fn soft_margin_loss(cx: &mut Lower, a: Value, b: Value, reduction: i64) -> Res<Value> {
    let (x, target, dtype) = pair(cx, a, b)?;
    let product = cx.mul(x, target);
    let minus = cx.neg(product);
    let losses = log_one_plus_exp(cx, minus, dtype);
    Ok(Reduction::read(reduction)?.of(cx, losses))
}

/// `max(0, t * (input2 - input1) + margin)`.
#[lowering("aten.margin_ranking_loss.default")]
fn margin_ranking_loss(
    cx: &mut Lower,
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
    let target = cx.cast(target, dtype);
    let difference = cx.sub(b, a);
    let signed = cx.mul(target, difference);
    let sum = shifted(cx, signed, margin, dtype);
    let losses = cx.relu(sum);
    Ok(Reduction::read(reduction)?.of(cx, losses))
}

/// `x` where `t` is 1 and `max(0, margin - x)` where it is -1.
#[lowering("aten.hinge_embedding_loss.default")]
fn hinge_embedding_loss(cx: &mut Lower, a: Value, b: Value, margin: f64, reduction: i64) -> Res<Value> {
    let (x, target, dtype) = pair(cx, a, b)?;
    let (one, minus_one) = (constant(cx, 1.0, dtype), constant(cx, -1.0, dtype));
    let (margin, zero) = (constant(cx, margin, dtype), constant(cx, 0.0, dtype));
    let (rest, similar, other) = (cx.sub(margin, x), cx.equal(target, one), cx.equal(target, minus_one));
    let rest = cx.relu(rest);
    // Each part is left out only where the target is the other's.
    let (near, far) = (cx.select(other, zero, x), cx.select(similar, zero, rest));
    let losses = cx.add(near, far);
    Ok(Reduction::read(reduction)?.of(cx, losses))
}

/// `exp(x) - t * x`, or `x - t * log(x + eps)` without `log_input`; `full` adds Stirling's
/// approximation of `log(t!)`, `t * log(t) - t + log(2 pi t) / 2`, where `t` is above 1.
#[lowering("aten.poisson_nll_loss.default")]
fn poisson_nll_loss(
    cx: &mut Lower,
    a: Value,
    b: Value,
    log_input: bool,
    full: bool,
    eps: f64,
    reduction: i64,
) -> Res<Value> {
    let (x, target, dtype) = pair(cx, a, b)?;
    let (rate, log) = if log_input {
        (cx.exp(x), x)
    } else {
        let sum = shifted(cx, x, eps, dtype);
        (x, cx.log(sum))
    };
    let observed = cx.mul(target, log);
    let mut losses = cx.sub(rate, observed);
    if full {
        let (log, one, zero) = (cx.log(target), constant(cx, 1.0, dtype), constant(cx, 0.0, dtype));
        // (t + 1/2) * log(t) - t + log(2 pi) / 2
        let exponent = shifted(cx, target, 0.5, dtype);
        let growth = cx.mul(exponent, log);
        let growth = cx.sub(growth, target);
        let growth = shifted(cx, growth, 0.5 * (2.0 * std::f64::consts::PI).ln(), dtype);
        let above = cx.greater(target, one);
        let growth = cx.select(above, growth, zero);
        losses = cx.add(losses, growth);
    }
    Ok(Reduction::read(reduction)?.of(cx, losses))
}
