//! Attention of a single token, whose heads are rows of one product for each group: what stands between the reshapes
//! there and back does not need them.

use onnxport_sdk::prelude::*;

use crate::rewriting::{is_one, known};
use crate::shapes::reshaping;

rules! {
    #![class = exact]

    /// Adds a bias of all heads and rows and applies a softmax without reshaping the scores.
    softmax_of_rows (opset = 13..):
        let scores = Reshape(rows: [B, _, _, T], _, ..);
        Reshape(Softmax(Add(scores, bias: [_, 1, 1, T]), axis = axis), _, ..)
        if comes_back(matched, rows, scores.output(0), axis)
        => softmax(cx, rows, bias);

    /// Selects whole items of the batch without one of the reshapes around the selection.
    selected_items (opset = 13..):
        let inner = Reshape(x: [B, _, _, _], _, ..);
        Reshape(Where(condition: [C, 1, 1, 1], inner, const other), _, ..)
        if by_items(x, inner.output(0), [B, C], other)
        => chosen(cx, x, condition, other);
}

/// Whether the root has the shape of `rows` again, and `scores` keep its first and last axis, which is the softmax's.
fn comes_back(
    matched: &Matched<'_>,
    rows: ValueRef<'_>,
    scores: Option<ValueRef<'_>>,
    axis: &Attribute,
) -> Res<()> {
    let before = known(rows)?;
    let after = known(matched.root().output(0).ok_or("it makes nothing")?)?;
    let between = known(scores.ok_or("nothing is reshaped")?)?;
    let ([batch, .., places], [first, _, _, last]) = (&before[..], &between[..]) else {
        return Err("the scores have not four axes".into());
    };
    if before == after
        && is_one(*batch, *first)
        && is_one(*places, *last)
        && matches!(axis.int(), Some(-1 | 3))
    {
        Ok(())
    } else {
        Err("the shape after the softmax differs".into())
    }
}

fn softmax<'h>(cx: &Rewrite<'h>, rows: ValueRef<'h>, bias: ValueRef<'h>) -> ValueRef<'h> {
    cx.op(op::Softmax).input(cx.add(rows, bias)).axis(-1).one()
}

/// Whether each item of `x` is kept or replaced by one number as a whole, and is the same item in `inner`.
fn by_items(
    x: ValueRef<'_>,
    inner: Option<ValueRef<'_>>,
    [batch, own]: [Dim; 2],
    other: ValueRef<'_>,
) -> Res<()> {
    known(x)?;
    let between = known(inner.ok_or("nothing is reshaped")?)?;
    let single = other.shape().is_some_and(|shape| shape.iter().all(|extent| extent.is(1)));
    let items = matches!(&between[..], [first, _, _, _] if is_one(*first, batch));
    if items && (is_one(own, batch) || own.is(1)) && single && other.rank().is_some_and(|rank| rank <= 4) {
        Ok(())
    } else {
        Err("it is not chosen by items of the batch".into())
    }
}

fn chosen<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    condition: ValueRef<'h>,
    other: ValueRef<'h>,
) -> Res<ValueRef<'h>> {
    let output = cx.matched().root().output(0).ok_or("it makes nothing")?;
    let shape = reshaping(x, &known(output)?)?;
    Ok(cx.reshape(cx.select(condition, x, other), &shape))
}
