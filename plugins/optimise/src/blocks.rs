//! Turns that move whole blocks of axes. Between two reshapes, what one of them divides or joins stays together, so that the
//! other one does for both; and two turns around a reshape are one in front of it.

use std::ops::Range;

use onnxport_sdk::prelude::*;

use crate::rewriting::known;
use crate::shapes::reshaping;

rules! {
    #![class = exact]

    /// Transposes split axes that stay together as one axis.
    transpose_of_split_axes (priority = -1): Reshape(Transpose(divided @ Reshape(x, _, ..), perm = p), _, ..)
        => undivided(cx, x, divided, p);

    /// Transposes adjacent axes that are merged afterwards as one axis.
    transpose_of_merged_axes (priority = -1): Reshape(turn @ Transpose(Reshape(x, _, ..), perm = p), _, ..)
        => joined(cx, x, turn, p);

    /// Merges two transposes around a reshape, if the second one moves its axes unchanged.
    transposes_around_reshape (priority = -1): Transpose(reshape @ Reshape(turn @ Transpose(x, perm = p), _, ..), perm = q)
        => around(cx, x, turn, p, reshape, q);
}

/// Axes of two shapes of one tensor that hold the same elements in the same order.
struct Block {
    one: Range<usize>,
    other: Range<usize>,
}

/// The finest division of `one` and `other`, shapes of the same elements, into blocks that is found: sizes that are equal
/// at both ends, and numbers in between. In a tensor without elements no order can be wrong.
fn blocks(one: &[Dim], other: &[Dim]) -> Res<Vec<Block>> {
    let front = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one_rest, other_rest) =
        (one.get(front..).unwrap_or_default(), other.get(front..).unwrap_or_default());
    let back = one_rest.iter().rev().zip(other_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let mut found: Vec<Block> =
        (0..front).map(|axis| Block { one: axis..axis + 1, other: axis..axis + 1 }).collect();
    found.extend(between(one, front..one.len() - back, other, front..other.len() - back)?);
    found.extend((0..back).rev().map(|axis| {
        let (a, b) = (one.len() - axis, other.len() - axis);
        Block { one: a - 1..a, other: b - 1..b }
    }));
    Ok(found)
}

/// The blocks of the axes `a` of `one` and `b` of `other`.
fn between(one: &[Dim], a: Range<usize>, other: &[Dim], b: Range<usize>) -> Res<Vec<Block>> {
    let numbers = |shape: &[Dim], axes: &Range<usize>| -> Option<Vec<i64>> {
        let numbers = shape.get(axes.clone())?.iter().map(|dim| dim.as_const().filter(|n| *n > 0));
        numbers.collect()
    };
    if a.is_empty() && b.is_empty() {
        return Ok(Vec::new());
    }
    if a.is_empty() || b.is_empty() {
        return Err("an axis of size one is added or removed".into());
    }
    let (Some(left), Some(right)) = (numbers(one, &a), numbers(other, &b)) else {
        return Ok(vec![Block { one: a, other: b }]);
    };
    let mut found: Vec<Block> = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (left.get(i), right.get(j)) {
        let (from, mut x, mut y) = ((i, j), *x, *y);
        (i, j) = (i + 1, j + 1);
        while x != y {
            let (total, list, at) = if x < y { (&mut x, &left, &mut i) } else { (&mut y, &right, &mut j) };
            let next = list.get(*at).and_then(|next| total.checked_mul(*next));
            *total = next.ok_or("the shapes have no common blocks")?;
            *at += 1;
        }
        found.push(Block { one: a.start + from.0..a.start + i, other: b.start + from.1..b.start + j });
    }
    // The rest on one side has one element.
    if let Some(last) = found.last_mut() {
        (last.one.end, last.other.end) = (a.end, b.end);
    }
    Ok(found)
}

/// The axes of a permutation.
fn axes(perm: &Attribute) -> Res<Vec<usize>> {
    let axes = perm.ints().ok_or("there is no permutation")?;
    axes.iter().map(|axis| usize::try_from(*axis).map_err(|_| "an axis is negative".into())).collect()
}

/// `x`, transposed by blocks of its shape after `divided`, in the shape of the root.
fn undivided<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    divided: NodeRef<'h>,
    perm: &Attribute,
) -> Res<ValueRef<'h>> {
    let between = known(divided.output(0).ok_or("nothing is reshaped")?)?;
    let order = undone(&known(x)?, &between, &axes(perm)?)?;
    shaped(cx, x, &order)
}

/// `x`, transposed once instead of by `first` and `second` around a reshape, in the shape of the root.
fn around<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    turn: NodeRef<'h>,
    first: &Attribute,
    reshape: NodeRef<'h>,
    second: &Attribute,
) -> Res<ValueRef<'h>> {
    let transposed = known(turn.output(0).ok_or("the transpose has no result")?)?;
    let between = known(reshape.output(0).ok_or("nothing is reshaped")?)?;
    let first = axes(first)?;
    let order =
        undone(&transposed, &between, &axes(second)?)?.into_iter().map(|axis| first.get(axis).copied());
    let order: Vec<usize> = order.collect::<Option<_>>().ok_or("there is no such axis")?;
    shaped(cx, x, &order)
}

/// The order of the axes of `before` that lies behind a reshape to `between` and a turn of it, which takes no block apart.
fn undone(before: &[Dim], between: &[Dim], axes: &[usize]) -> Res<Vec<usize>> {
    let blocks = blocks(before, between)?;
    let mut order = Vec::new();
    let mut rest = axes;
    while let Some(first) = rest.first() {
        let block = blocks.iter().find(|block| block.other.start == *first);
        let block =
            block.filter(|block| rest.iter().take(block.other.len()).copied().eq(block.other.clone()));
        let block = block.ok_or("a block of axes is split")?;
        order.extend(block.one.clone());
        rest = rest.get(block.other.len()..).unwrap_or_default();
    }
    Ok(order)
}

/// `x` with its axes in this order, in the shape of the root.
fn shaped<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, order: &[usize]) -> Res<ValueRef<'h>> {
    let transposed = if order.iter().copied().eq(0..order.len()) { x } else { cx.transpose(x, order) };
    let shape = reshaping(transposed, &root_shape(cx)?)?;
    Ok(cx.reshape(transposed, &shape))
}

/// `x` in the shape of the root except for the order of its blocks, then transposed.
fn joined<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, turn: NodeRef<'h>, perm: &Attribute) -> Res<ValueRef<'h>> {
    let between = known(turn.output(0).ok_or("the transpose has no result")?)?;
    let after = root_shape(cx)?;
    let axes = axes(perm)?;
    // The first axis of each block before the transpose, and its axes after it.
    let mut blocks: Vec<(usize, Range<usize>)> = blocks(&between, &after)?
        .into_iter()
        .map(|block| {
            let sources = axes.get(block.one).unwrap_or_default();
            let start = sources.first().copied().ok_or("a block has no axes")?;
            let together = sources.iter().copied().eq(start..start + sources.len());
            if together { Ok((start, block.other)) } else { Err("the joined axes are not adjacent".into()) }
        })
        .collect::<Res<_>>()?;
    blocks.sort_unstable_by_key(|(start, _)| *start);
    let order: Vec<usize> = blocks.into_iter().flat_map(|(_, axes)| axes).collect();
    let before: Vec<Dim> = order.iter().filter_map(|axis| after.get(*axis).copied()).collect();
    let shape = reshaping(x, &before)?;
    let reshaped = cx.reshape(x, &shape);
    let mut transposed = vec![0; order.len()];
    for (place, axis) in order.iter().enumerate() {
        *transposed.get_mut(*axis).ok_or("there is no such axis")? = place;
    }
    Ok(cx.transpose(reshaped, &transposed))
}

fn root_shape(cx: &Rewrite<'_>) -> Res<Vec<Dim>> {
    known(cx.matched().root().output(0).ok_or("it makes nothing")?)
}
