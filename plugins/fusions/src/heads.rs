//! Attention as ONNX Runtime's `MultiHeadAttention`.

use onnxport_sdk::prelude::*;

use crate::runtime::single_precision;
use crate::scalar;

rules! {
    /// Fuses `softmax(q kᵀ * scale + bias) v` of heads that were split from one axis into a `MultiHeadAttention`, which
    /// takes the unsplit operands. It gains nothing if an operand, such as a cache, has separate heads already.
    multi_head_attention (class = target("onnxruntime", relative = 1e-5)):
        let query = shared Transpose(q: [B, S, H, D], perm = [0, 2, 1, 3]);
        let keys = (
            Transpose(k: [B, L, H, D], perm = [0, 2, 3, 1])
            | Transpose(shared Transpose(k: [B, L, H, D], perm = [0, 2, 1, 3]), perm = [0, 1, 3, 2])
        );
        let scores = (
            Mul(MatMul(query, keys), const factor)
            | Div(MatMul(query, keys), const root)
            | MatMul(Mul(query, const before), (Mul(keys, const behind) | keys))
            | MatMul(query, keys)
        );
        let values = shared Transpose(v: [B, L, H, E], perm = [0, 2, 1, 3]);
        MatMul(Softmax(maybe Add(scores, bias), axis = axis), values)
        if attends(matched, q, bias, axis)
        => attention(cx, [q, k, v], bias, scale([factor, before, behind], root)?);
}

/// Whether the operator takes such operands, and its kernel is faster.
fn attends(matched: &Matched<'_>, q: ValueRef<'_>, bias: Option<ValueRef<'_>>, axis: &Attribute) -> Res<()> {
    single_precision(
        q,
        if bias.is_some() {
            "com.microsoft.MultiHeadAttention, bias"
        } else {
            "com.microsoft.MultiHeadAttention"
        },
    )?;
    if !matches!(axis.int(), Some(-1 | 3)) {
        return Err("it is not about the last axis".into());
    }
    let scores = matched.root().input(0).and_then(ValueRef::shape).unwrap_or_default();
    if let Some(bias) = bias {
        let fits = match (bias.shape().as_deref(), scores.as_slice()) {
            (Some([b, h, s, l]), [batch, heads, rows, columns]) => {
                (b == batch || b.is(1)) && (h == heads || h.is(1)) && (s, l) == (rows, columns)
            }
            _ => false,
        };
        if !fits {
            return Err("the bias has another shape than the scores".into());
        }
    }
    Ok(())
}

/// The factor of the scores: the product of `factors`, or the reciprocal of `root`.
fn scale(factors: [Option<ValueRef<'_>>; 3], root: Option<ValueRef<'_>>) -> Res<f32> {
    let mut scale = 1.0;
    for factor in factors.into_iter().flatten() {
        scale *= scalar(factor)?;
    }
    if let Some(root) = root {
        scale /= scalar(root)?;
    }
    // Of 0 the operator makes its own scale.
    if scale == 0.0 || !scale.is_finite() {
        Err("the scale is not a number".into())
    } else {
        Ok(scale as f32)
    }
}

/// The attention of `q: [B, S, H, D]`, `k: [B, L, H, D]` and `v: [B, L, H, E]`, as `[B, H, S, E]`.
fn attention<'h>(
    cx: &Rewrite<'h>,
    operands: [ValueRef<'h>; 3],
    bias: Option<ValueRef<'h>>,
    scale: f32,
) -> Res<ValueRef<'h>> {
    let [q, _, v] = operands;
    let [heads, width] = [(q, 2), (v, 3)].map(|(value, axis)| cx.dim(value, axis).as_const());
    let (heads, width) = heads.zip(width).ok_or("the heads are not known")?;
    let (batch, length) = (cx.dim(q, 0), cx.dim(q, 1));
    let [q, k, v] = operands.map(|operand| joined(cx, operand));
    let made = cx
        .op(op::microsoft::MultiHeadAttention)
        .input(q?)
        .input(k?)
        .input(v?)
        .maybe(None)
        .maybe(None)
        .maybe(bias)
        .num_heads(heads)
        .scale(scale)
        .one();
    let whole = heads.checked_mul(width).ok_or("the heads are too wide")?;
    cx.set_type(made, DType::F32, Some(&[batch, length, Dim::Const(whole)]));
    Ok(cx.transpose(cx.reshape(made, &[0, 0, heads, width]), &[0, 2, 1, 3]))
}

/// `x: [B, L, H, D]` as `[B, L, H * D]`: the value before its division into heads, if there is one.
fn joined<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>) -> Res<ValueRef<'h>> {
    let shape = cx.shape(x)?;
    let [batch, length, heads, width] = shape.as_slice() else { return Err("it has no four axes".into()) };
    let both = heads.as_const().zip(width.as_const()).and_then(|(heads, width)| heads.checked_mul(width));
    let both = both.ok_or("the heads are not known")?;
    let before = x.producer().filter(|(node, _)| node.is(op::Reshape)).and_then(|(node, _)| node.input(0));
    let whole = [*batch, *length, Dim::Const(both)];
    let is_whole = |shape: Vec<Dim>| shape == whole && !shape.contains(&Dim::Unknown);
    Ok(match before {
        Some(before) if before.shape().is_some_and(is_whole) => before,
        _ => cx.reshape(x, &[0, 0, both]),
    })
}
