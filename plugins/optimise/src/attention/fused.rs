//! ONNX's own `Attention`, which computes a head at a time and does not hold all scores at once.

use onnxport_sdk::prelude::*;

rules! {
    #![class = bounded(relative = 1e-5, ulps = 32, finite)]

    /// Fuses masked scores, their softmax and the product with the values into an `Attention`, with the zeros of fully
    /// masked rows, which the operator returns as well. Heads may share keys and values.
    masked_attention (opset = 23.., priority = 2):
        let bias = shared Where(_, 0, const closed);
        let query = shared maybe Mul(q, const factor);
        let keys = (Transpose(k, perm = [0, 1, 3, 2]) | Transpose(flat, perm = [0, 2, 3, 1]));
        let rows = Reshape(query, _, ..);
        let scores = (MatMul(query, keys) | Reshape(MatMul(rows, keys), _, ..));
        let soft = shared Softmax(Add(scores, bias), axis = -1);
        let wide = Reshape(soft, _, ..);
        let product = (MatMul(soft, v) | Reshape(MatMul(wide, v), _, ..));
        Where(shared Equal(shared ReduceMax(bias, -1), 0), product, 0)
        if is_closed(closed)
        => attention(cx, [q, k.or_else(|| headed(cx, flat)), Some(v), bias.output(0)], [rows, wide], factor);

    /// Fuses scores with a bias, their softmax and the product with the values into an `Attention`, where NaN in rows
    /// whose bias is minus infinity throughout is replaced by zeros. Rows that are NaN for other reasons stay NaN.
    guarded_attention (opset = 23.., priority = 2):
        let query = shared maybe Mul(q, const factor);
        let keys = (Transpose(k, perm = [0, 1, 3, 2]) | Transpose(flat, perm = [0, 2, 3, 1]));
        let rows = Reshape(query, _, ..);
        let scores = (MatMul(query, keys) | Reshape(MatMul(rows, keys), _, ..));
        let soft = shared Softmax(Add(scores, bias), axis = -1);
        let wide = Reshape(soft, _, ..);
        let product = (MatMul(soft, v) | Reshape(MatMul(wide, v), _, ..));
        Where(IsNaN((Slice(soft, 0, 1, -1) | ReduceSum(soft, -1))), 0, product)
        => attention(cx, [q, k.or_else(|| headed(cx, flat)), Some(v), Some(bias)], [rows, wide], factor);

    /// Fuses the scores of a scaled query, their softmax and the product with the values into an `Attention`.
    /// `masked_attention` and `guarded_attention` handle a bias that a guard after the product reads as well.
    scaled_attention (opset = 23..):
        let keys = (Transpose(k, perm = [0, 1, 3, 2]) | Transpose(flat, perm = [0, 2, 3, 1]));
        let scores = MatMul(shared Mul(q, const factor), keys);
        MatMul(Softmax(maybe Add(scores, bias), axis = -1), v)
        if is_unguarded(bias)
        => attention(cx, [Some(q), k.or_else(|| headed(cx, flat)), Some(v), bias], [None, None], Some(factor));
}

/// Whether only the scores use `bias`, if there is one, so that nothing guards rows that it closes.
fn is_unguarded(bias: Option<ValueRef<'_>>) -> Res<()> {
    if bias.is_none_or(|bias| bias.constant().is_some() || bias.only_use().is_some()) {
        Ok(())
    } else {
        Err("the bias has other readers, which may guard closed rows".into())
    }
}

/// Whether `closed` is minus infinity.
fn is_closed(closed: ValueRef<'_>) -> Res<()> {
    let numbers = closed.constant().and_then(|closed| closed.floats());
    if matches!(numbers.as_deref(), Some([number]) if *number == f64::NEG_INFINITY) {
        Ok(())
    } else {
        Err("the mask does not close scores by minus infinity".into())
    }
}

/// Keys `[B, S, H, D]` with their heads in front.
fn headed<'h>(cx: &Rewrite<'h>, flat: Option<ValueRef<'h>>) -> Option<ValueRef<'h>> {
    Some(cx.transpose(flat?, &[0, 2, 1, 3]))
}

/// Writes `Attention` of query, keys and values, all with four axes, and of an optional bias. `rows` and `wide` are the
/// reshapes that joined heads and rows, if there were any.
fn attention<'h>(
    cx: &Rewrite<'h>,
    operands: [Option<ValueRef<'h>>; 4],
    grouped: [Option<NodeRef<'h>>; 2],
    factor: Option<ValueRef<'h>>,
) -> Res<ValueRef<'h>> {
    let [Some(q), Some(k), Some(v), bias] = operands else {
        return Err("an operand is missing".into());
    };
    let is_short = matches!(q.dtype(), Some(DType::F32 | DType::F16 | DType::BF16));
    if !is_short || bias.is_some_and(|bias| bias.dtype() != q.dtype()) {
        return Err("it is not f32, f16 or bf16".into());
    }
    let (query, keys, values) = (cx.shape(q)?, cx.shape(k)?, cx.shape(v)?);
    let ([b, h, l, d], [_, n, s, _]) = (&query[..], &keys[..]) else {
        return Err("the operands have not four axes".into());
    };
    let known = [b, h, l, d, n, s].iter().all(|extent| **extent != Dim::Unknown);
    if !known || keys != [*b, *n, *s, *d] || values.get(..3) != keys.get(..3) || values.len() != 4 {
        return Err("the operands are not of one batch, with heads for groups of heads".into());
    }
    if let Some(bias) = bias
        && !fits(&cx.shape(bias)?, [*b, *h, *l, *s])
    {
        return Err("the bias does not cover [queries, keys]".into());
    }
    let [rows, wide] = grouped;
    if !keeps(rows, [*b, *n, *d]) || !keeps(wide, [*b, *n, *s]) {
        return Err("more than rows and heads is reshaped".into());
    }
    if rows.is_some() && l.is(1) {
        return Err("products of one row for each group are faster".into());
    }
    let scale = match factor {
        Some(factor) => match factor.constant().and_then(|factor| factor.floats()).as_deref() {
            Some([scale]) => *scale,
            _ => return Err("the query is scaled by several numbers".into()),
        },
        None => 1.0,
    };
    Ok(cx.op(op::Attention).input(q).input(k).input(v).maybe(bias).scale(scale).one())
}

/// Whether a bias covers scores of this shape: runtimes broadcast it over batches and heads only.
fn fits(bias: &[Dim], scores: [Dim; 4]) -> bool {
    let axes = bias.iter().rev().zip(scores.iter().rev()).enumerate();
    let mut own = axes.map(|(at, (own, extent))| own == extent || at > 1 && own.is(1));
    (2..=4).contains(&bias.len()) && own.all(|fits| fits)
}

/// Whether a reshape to four axes, if there is one, changes only the rows of `[batch, heads, rows, columns]`.
fn keeps(reshape: Option<NodeRef<'_>>, kept: [Dim; 3]) -> bool {
    let Some(reshape) = reshape else { return true };
    let shape = reshape.output(0).and_then(ValueRef::shape);
    matches!(shape.as_deref(), Some([b, n, _, c]) if [*b, *n, *c] == kept)
}
