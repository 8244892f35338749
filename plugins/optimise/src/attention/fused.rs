//! ONNX's own `Attention`, which computes a head at a time and does not hold all scores at once.

use onnxport_sdk::prelude::*;

rules! {
    #![class = bounded(relative = 1e-5, ulps = 32, finite)]

    /// Masked scores, their softmax, its product with the values, and zeros in rows that are closed everywhere are an
    /// attention: it makes zeros of such rows as well. Heads that share keys are left to it, too.
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

    /// The same of scores with any bias, where rows that are NaN are made zero: those whose bias is minus infinity
    /// throughout. Rows that are NaN for another reason stay so.
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
}

/// Whether `closed` is minus infinity.
fn is_closed(closed: ValueRef<'_>) -> bool {
    let numbers = closed.constant().and_then(|closed| closed.floats());
    matches!(numbers.as_deref(), Some([number]) if *number == f64::NEG_INFINITY)
}

/// Keys `[B, S, H, D]` with their heads in front.
fn headed<'h>(cx: &Rewrite<'h>, flat: Option<ValueRef<'h>>) -> Option<ValueRef<'h>> {
    Some(cx.transpose(flat?, &[0, 2, 1, 3]))
}

/// `Attention` of the query, the keys, the values and a bias, all with four axes but the last. Its heads were made
/// rows by `rows` and `wide`, if they were.
fn attention<'h>(
    cx: &Rewrite<'h>,
    operands: [Option<ValueRef<'h>>; 4],
    grouped: [Option<NodeRef<'h>>; 2],
    factor: Option<ValueRef<'h>>,
) -> Res<ValueRef<'h>> {
    let [Some(q), Some(k), Some(v), Some(bias)] = operands else {
        return Err("an operand is missing".into());
    };
    if !matches!(q.dtype(), Some(DType::F32 | DType::F16 | DType::BF16)) || bias.dtype() != q.dtype() {
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
    if !fits(&cx.shape(bias)?, [*b, *h, *l, *s]) {
        return Err("the bias has not a number for each row and place".into());
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
    Ok(cx.op("Attention").input(q).input(k).input(v).input(bias).float("scale", scale).one())
}

/// Whether a bias is one of scores of this shape, with its own rows and places: runtimes repeat it for batches and heads
/// only.
fn fits(bias: &[Dim], scores: [Dim; 4]) -> bool {
    let axes = bias.iter().rev().zip(scores.iter().rev()).enumerate();
    let mut own = axes.map(|(at, (own, extent))| own == extent || at > 1 && own.is(1));
    (2..=4).contains(&bias.len()) && own.all(|fits| fits)
}

/// Whether a reshape to four axes, if there is one, keeps all but the rows as `[batch, heads, columns]` say.
fn keeps(reshape: Option<NodeRef<'_>>, kept: [Dim; 3]) -> bool {
    let Some(reshape) = reshape else { return true };
    let shape = reshape.output(0).and_then(ValueRef::shape);
    matches!(shape.as_deref(), Some([b, n, _, c]) if [*b, *n, *c] == kept)
}
