//! Attention that was written out, as ONNX's own operator.

use onnxport_sdk::prelude::*;

use crate::{is_short, single};

rules! {
    /// Fuses `softmax(q kᵀ * scale + mask) v` into an `Attention`.
    attention (class = bounded(relative = 1e-5, ulps = 32, finite), opset = 23..):
        let scores = MatMul(q: [B, H, S, D], Transpose(k: [B, H, L, D], perm = [0, 1, 3, 2]));
        let scaled = (Mul(scores, const factor) | Div(scores, const root));
        MatMul(Softmax(maybe Add(scaled, mask), axis = -1), v: [B, H, L, _])
        if attends(q, mask, [B, H, S, L])
        => Attention(q, k, v, mask, scale = scale(factor, root));
}

/// Whether runtimes have the operator for `q`, and take the mask with scores of this shape.
fn attends(q: ValueRef<'_>, mask: Option<ValueRef<'_>>, scores: [Dim; 4]) -> Res<()> {
    is_short(q)?;
    let Some(mask) = mask else { return Ok(()) };
    let shape = mask.shape().ok_or("the shape of the mask is not known")?;
    // Runtimes repeat it for batches and heads only.
    let axes = shape.iter().rev().zip(scores.iter().rev()).enumerate();
    let mut own = axes.map(|(at, (own, extent))| own == extent || at > 1 && own.is(1));
    if (2..=4).contains(&shape.len()) && own.all(|fits| fits) && !shape.contains(&Dim::Unknown) {
        Ok(())
    } else {
        Err("the mask does not cover [queries, keys]".into())
    }
}

/// The scale as an attribute has it: `factor`, or the reciprocal of `root`.
fn scale(factor: Option<ValueRef<'_>>, root: Option<ValueRef<'_>>) -> Res<f32> {
    let scale = match (factor, root) {
        (Some(factor), _) => single(factor)?,
        (None, Some(root)) => 1.0 / single(root)?,
        (None, None) => return Err("there is no scale".into()),
    };
    // Of 0 some runtimes make a scale of their own.
    if scale == 0.0 || !scale.is_finite() { Err("the scale is not a number".into()) } else { Ok(scale) }
}
