//! Attention and the rotation of its operands.

use onnxport_sdk::prelude::*;

use crate::single;

rules! {
    /// `softmax(q kᵀ * scale + mask) v` is an attention.
    attention (opset = 23..):
        let scores = MatMul(q: [B, H, _, D], Transpose(k: [B, H, L, D], perm = [0, 1, 3, 2]));
        let scaled = (Mul(scores, const factor) | Div(scores, const root));
        MatMul(Softmax(maybe Add(scaled, mask), axis = -1), v: [B, H, L, _])
        => Attention(q, k, v, mask, scale = scale(factor, root));

    /// `x * cos + turned * sin`, where `turned` is `x` with its halves exchanged and one negated, is a rotary
    /// embedding.
    rotary (opset = 23..):
        let angles = shared Concat(half: [B, S, _], half, axis = -1);
        let cos = shared Unsqueeze(shared Cos(angles), 1);
        let sin = shared Unsqueeze(shared Sin(angles), 1);
        let upper = Slice(x, const middle, _, const axis, _?);
        let lower = Slice(x, 0, const middle, const axis, _?);
        Add(Mul(x: [B, _, S, D], cos), Mul(Concat(Neg(upper), lower, axis = -1), sin)) if halves(x, D, middle, axis)
        => RotaryEmbedding(x, Cos(half), Sin(half));
}

fn scale(factor: Option<ValueRef<'_>>, root: Option<ValueRef<'_>>) -> Res<f32> {
    match (factor, root) {
        (Some(factor), _) => single(factor),
        (None, Some(root)) => Ok(1.0 / single(root)?),
        (None, None) => Err("there is no scale".into()),
    }
}

/// Whether `middle` halves the last of four axes of `x`, and its type is one of the operator's.
fn halves(x: ValueRef<'_>, extent: Dim, middle: ValueRef<'_>, axis: ValueRef<'_>) -> Res<()> {
    let only = |value: ValueRef<'_>| match value.constant()?.ints()?.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    if x.dtype() == Some(DType::F64) {
        return Err("it is of f64, which the operator does not take".into());
    }
    match (extent.as_const(), only(middle), only(axis)) {
        (Some(extent), Some(middle), Some(-1 | 3)) if extent == 2 * middle => Ok(()),
        _ => Err("it is not divided in the middle".into()),
    }
}
