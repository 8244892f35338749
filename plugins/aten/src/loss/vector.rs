//! Losses of vectors: angles and distances between them.

use onnxport_sdk::prelude::*;

use super::Reduction;
use crate::matmul::difference;
use crate::support::{constant, shifted};

/// `1 - cos` of the angle between the inputs where `t` is 1, `max(0, cos - margin)` where it is -1.
#[lowering("aten.cosine_embedding_loss.default")]
fn cosine_embedding_loss(
    cx: &mut Lower,
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
        let product = cx.mul(x, y);
        sums.push(cx.reduce("ReduceSum", product, &[axis], false));
    }
    let [inner, a, b] = sums[..] else { return Err("the loss has three sums".into()) };
    let (a, b) = (shifted(cx, a, 1e-12, dtype), shifted(cx, b, 1e-12, dtype));
    let product = cx.mul(a, b);
    let size = cx.sqrt(product);
    let cosine = cx.div(inner, size);
    let (one, zero, minus_one) =
        (constant(cx, 1.0, dtype), constant(cx, 0.0, dtype), constant(cx, -1.0, dtype));
    let (near, far) = (cx.sub(one, cosine), shifted(cx, cosine, -margin, dtype));
    let far = cx.relu(far);
    let (similar, other) = (cx.equal(target, one), cx.equal(target, minus_one));
    let far = cx.select(other, far, zero);
    let losses = cx.select(similar, near, far);
    Ok(Reduction::read(reduction)?.of(cx, losses))
}

/// The `p`-norm of `a - b + eps` along the last axis.
fn distance(cx: &mut Lower, (a, b): (Value, Value), p: f64, eps: f64, dtype: DType) -> Res<Value> {
    let difference = difference(cx, a, b, dtype)?;
    let difference = shifted(cx, difference, eps, dtype);
    if p == 2.0 {
        return Ok(cx.reduce("ReduceL2", difference, &[-1], false));
    }
    if p == 1.0 {
        return Ok(cx.reduce("ReduceL1", difference, &[-1], false));
    }
    let (size, exponent) = (cx.abs(difference), constant(cx, p, dtype));
    let powers = cx.pow(size, exponent);
    let sum = cx.reduce("ReduceSum", powers, &[-1], false);
    let root = constant(cx, 1.0 / p, dtype);
    Ok(cx.pow(sum, root))
}

/// `max(0, margin + |anchor - positive| - |anchor - negative|)`; with `swap` the negative's distance
/// is the smaller of those to the anchor and to the positive.
#[lowering("aten.triplet_margin_loss.default")]
fn triplet_margin_loss(
    cx: &mut Lower,
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
        let other = distance(cx, (positive, negative), p, eps, dtype)?;
        far = cx.min(far, other);
    }
    let difference = cx.sub(near, far);
    let sum = shifted(cx, difference, margin, dtype);
    let losses = cx.relu(sum);
    Ok(Reduction::read(reduction)?.of(cx, losses))
}
