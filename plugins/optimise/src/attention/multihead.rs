//! The nodes that `nn.MultiheadAttention` writes around its heads: positions go before the batch, query, key and value lie one behind the other in
//! one product, and the batch and the heads are one axis meanwhile.

use onnxport_sdk::prelude::*;

use crate::rewriting::known;

rules! {
    /// Splits heads from the batch before the transpose instead of after it.
    heads_with_the_batch (class = exact, opset = 13..):
        let rows = Reshape(x: [S, B, E], _, ..);
        let transposed = Transpose(rows: [S, _, D], perm = [1, 0, 2]);
        Reshape(transposed: [_, S, D], _, ..) if heads(matched, [B, S, E, D]).map(|_| ())
        => divided(cx, x, [B, S, E, D]);

    /// Splits query, key and value directly from one value, without an axis of size 3 and a transpose.
    split_heads (class = exact, opset = 13..):
        let apart = Transpose(Reshape(x: [S, B, P], _, ..): [1, S, B, 3, E], perm = [3, 1, 2, 0, 4]);
        let all = shared Squeeze(apart, 3);
        (Gather(all, const q, axis = 0), Gather(all, const k, axis = 0), Gather(all, const v, axis = 0))
        if known(x).and_then(|_| are_in_order([q, k, v])).and_then(|()| is_thrice(P, E))
        => split(cx, x, E);

    /// Computes the product with the batch first, so that only the heads are transposed.
    batch_first_heads (class = bounded(relative = 1e-6, ulps = 4), opset = 13..):
        let linear = Add(MatMul(Transpose(x: [B, S, _], perm = [1, 0, 2]), w: [_, P]), bias: [P]);
        let parts = Split(linear, const widths, axis = axis);
        (
            Transpose(Reshape(parts, _, ..): [S, B, H, D], perm = p),
            Transpose(Reshape(parts.1, _, ..): [S, B, H, D], perm = q),
            Transpose(Reshape(parts.2, _, ..): [S, B, H, D], perm = r)
        )
        if known(x).and_then(|_| has_three_parts(axis, widths))
        => projected(cx, [x, w, bias, widths], [H, D], [p, q, r]);

    /// Computes the output projection with the batch first, so that only the heads are transposed back.
    batch_first_rows (class = bounded(relative = 1e-6, ulps = 4), opset = 13..):
        let rows = Reshape(Transpose(heads: [B, _, S, _], perm = [2, 0, 1, 3]), _, ..);
        let product = Gemm(rows: [_, E], w, bias: [N], transA = 0, transB = turn, alpha = 1.0, beta = 1.0);
        Transpose(Reshape(product, _, ..): [S, B, N], perm = [1, 0, 2])
        if known(heads).map(|_| ())
        => returned(cx, heads, [w, bias], turn, E);
}

/// The sizes of heads `D` wide that stand in `[S, B, E]`, where the root has them as `[B, H, S, D]`.
fn heads(matched: &Matched<'_>, [batch, places, whole, width]: [Dim; 4]) -> Res<i64> {
    let root = known(matched.root().output(0).ok_or("it makes nothing")?)?;
    let (Some(whole), Some(width)) = (whole.as_const(), width.as_const()) else {
        return Err("the width of a head is not known".into());
    };
    let count = whole.checked_div(width).filter(|count| count.checked_mul(width) == Some(whole));
    let count = count.ok_or("the heads have no width")?;
    if root == [batch, Dim::Const(count), places, Dim::Const(width)] {
        Ok(count)
    } else {
        Err("it is not the heads that are divided".into())
    }
}

fn divided<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, extents: [Dim; 4]) -> Res<ValueRef<'h>> {
    let count = heads(cx.matched(), extents)?;
    let width = extents[3].as_const().ok_or("the width of a head is not known")?;
    Ok(cx.transpose(cx.reshape(x, &[0, 0, count, width]), &[1, 2, 0, 3]))
}

/// Whether these are the single numbers 0, 1, 2.
fn are_in_order(places: [ValueRef<'_>; 3]) -> Res<()> {
    for (place, at) in places.iter().zip(0..) {
        if place.rank() != Some(0) {
            return Err("a part is taken with its axis".into());
        }
        if place.constant().and_then(|c| c.ints()).as_deref() != Some(&[at]) {
            return Err("the parts are not taken in order".into());
        }
    }
    Ok(())
}

fn is_thrice(whole: Dim, part: Dim) -> Res<()> {
    let whole = whole.as_const().ok_or("the width of all parts is not known")?;
    if part.as_const().and_then(|part| part.checked_mul(3)) == Some(whole) {
        Ok(())
    } else {
        Err("a part is not a third of the whole".into())
    }
}

/// Whether the last of three axes is split into three parts.
fn has_three_parts(axis: &Attribute, widths: ValueRef<'_>) -> Res<()> {
    if !matches!(axis.int(), Some(-1 | 2)) {
        return Err("it is not the last axis that is split".into());
    }
    if widths.extents() != Some(vec![3]) {
        return Err("it is not split into three parts".into());
    }
    Ok(())
}

fn split<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, width: Dim) -> Res<Vec<ValueRef<'h>>> {
    let width = width.as_const().ok_or("a width is not known")?;
    Ok(cx.op(op::Split).input(x).input(cx.ints(&[width; 3])).axis(-1).many(3))
}

/// The heads of the three parts of `x w + bias`, transposed by `perms`, which are for heads with positions before the batch.
fn projected<'h>(
    cx: &Rewrite<'h>,
    [x, w, bias, widths]: [ValueRef<'h>; 4],
    extents: [Dim; 2],
    perms: [&Attribute; 3],
) -> Res<Vec<ValueRef<'h>>> {
    let [Some(heads), Some(width)] = extents.map(Dim::as_const) else {
        return Err("the heads are not known".into());
    };
    let linear = cx.add(cx.matmul(x, w), bias);
    let parts = cx.op(op::Split).input(linear).input(widths).axis(-1).many(3);
    let transposed = parts.into_iter().zip(perms).map(|(part, perm)| {
        let perm = perm.ints().ok_or("there is no permutation")?;
        // The first two axes are swapped.
        let perm: Vec<i64> = perm.iter().map(|axis| if *axis < 2 { 1 - axis } else { *axis }).collect();
        Ok(cx.op(op::Transpose).input(cx.reshape(part, &[0, 0, heads, width])).perm(&perm).one())
    });
    transposed.collect()
}

/// The product of the result of `heads: [B, H, S, D]` and `w`, plus `bias`, with the batch in front.
fn returned<'h>(
    cx: &Rewrite<'h>,
    heads: ValueRef<'h>,
    [w, bias]: [ValueRef<'h>; 2],
    turn: &Attribute,
    width: Dim,
) -> Res<ValueRef<'h>> {
    let width = width.as_const().ok_or("a width is not known")?;
    let rows = cx.reshape(cx.transpose(heads, &[0, 2, 1, 3]), &[0, 0, width]);
    let w = if turn.int() == Some(1) { cx.transpose(w, &[1, 0]) } else { w };
    Ok(cx.add(cx.matmul(rows, w), bias))
}
