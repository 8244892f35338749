//! Losses of vectors: angles and distances between them.

use onnxport_sdk::prelude::*;

use super::Reduction;
use crate::matmul::difference;
use crate::support::shifted;

/// `1 - cos` of the angle between the inputs where `t` is 1, `max(0, cos - margin)` where it is -1.
#[lowering("aten.cosine_embedding_loss.default")]
fn cosine_embedding_loss(
    cx: &Lower,
    a: Value,
    b: Value,
    target: Value,
    margin: f64,
    reduction: i64,
) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b, target) = (cx.cast(a, dtype), cx.cast(b, dtype), cx.cast(target, dtype));
    let axis = cx.rank(target)? as i64;
    let mut sums = Vec::with_capacity(3);
    for (x, y) in [(a, b), (a, a), (b, b)] {
        sums.push(cx.reduce(op::ReduceSum, x * y, &[axis], false));
    }
    let [inner, a, b] = sums[..] else { return Err("the loss has three sums".into()) };
    let cosine = inner / cx.sqrt((a + 1e-12) * (b + 1e-12));
    let (one, zero, minus_one) = (cx.float(1.0, dtype), cx.float(0.0, dtype), cx.float(-1.0, dtype));
    let near = one - cosine;
    let far = cx.relu(shifted(cosine, -margin));
    let (similar, other) = (cx.equal(target, one), cx.equal(target, minus_one));
    Ok(Reduction::read(reduction)?.of(cx, cx.select(similar, near, cx.select(other, far, zero))))
}

/// The `p`-norm of `a - b + eps` along the last axis.
fn distance(cx: &Lower, (a, b): (Value, Value), p: f64, eps: f64, dtype: DType) -> Res<Value> {
    let difference = shifted(difference(cx, a, b, dtype)?, eps);
    if p == 2.0 {
        return Ok(cx.reduce(op::ReduceL2, difference, &[-1], false));
    }
    if p == 1.0 {
        return Ok(cx.reduce(op::ReduceL1, difference, &[-1], false));
    }
    Ok(cx.pow(cx.reduce(op::ReduceSum, cx.pow(cx.abs(difference), p), &[-1], false), 1.0 / p))
}

/// `max(0, margin + |anchor - positive| - |anchor - negative|)`; with `swap` the negative's distance
/// is the smaller of those to the anchor and to the positive.
#[lowering("aten.triplet_margin_loss.default")]
fn triplet_margin_loss(
    cx: &Lower,
    anchor: Value,
    positive: Value,
    negative: Value,
    margin: f64,
    p: f64,
    eps: f64,
    swap: bool,
    reduction: i64,
) -> Res<Value> {
    if p <= 0.0 || !p.is_finite() {
        return Err(format!("`p` is {p}, and only positive finite norms are supported").into());
    }
    let dtype = cx.result(0)?.dtype;
    let near = distance(cx, (anchor, positive), p, eps, dtype)?;
    let mut far = distance(cx, (anchor, negative), p, eps, dtype)?;
    if swap {
        far = cx.min(far, distance(cx, (positive, negative), p, eps, dtype)?);
    }
    Ok(Reduction::read(reduction)?.of(cx, cx.relu(shifted(near - far, margin))))
}
