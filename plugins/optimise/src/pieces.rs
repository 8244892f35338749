//! Concatenations of splits, and splits of concatenations.

use onnxport_sdk::prelude::*;

use crate::rewriting::{axis_of, is_one, made, operands};
use crate::shapes::keeps_shape;

rules! {
    #![class = exact]

    /// Removes a `Concat` of one tensor.
    concat_of_one (priority = 1): Concat(x, axis = _axis) => x;

    /// Merges nested `Concat`s along the same axis.
    concat_of_concat: Concat(_, axis = axis, ..) => flattened(cx, axis);

    /// Removes tensors without elements from a `Concat`.
    concat_without_empty: Concat(_, axis = axis, ..) => filled(cx, axis);

    /// Removes a `Concat` that restores a split tensor.
    concat_of_split: Concat(Split(x, ..), axis = axis, ..) if are_all_parts(matched, x, axis) => x;

    /// Removes a `Concat` of consecutive slices that restores the whole tensor.
    concat_of_slices: Concat(Slice(x, ..), axis = axis, ..) if follow(matched, x, axis) => x;

    /// Removes a `Split` into one part.
    split_of_one: Split(x, ..) if has_one_part(matched) => x;

    /// Removes a `Split` that restores concatenated tensors.
    split_of_concat: Split(shared Concat(_, axis = axis, ..), ..) => taken_apart(cx, axis);
}

/// Whether the root gives one part.
fn has_one_part(matched: &Matched<'_>) -> Res<()> {
    if matched.root().outputs().len() == 1 { Ok(()) } else { Err("it gives several parts".into()) }
}

/// The tensors that a `Concat` joins, with their sizes along `axis`.
pub(crate) fn pieces(joined: ValueRef<'_>, axis: usize) -> Res<Vec<(ValueRef<'_>, Dim)>> {
    let node = made(Some(joined))?;
    let extent = |value: &ValueRef<'_>| -> Res<Dim> {
        let shape = value.shape().ok_or("a shape is not known")?;
        Ok(shape.get(axis).copied().ok_or("the ranks differ")?)
    };
    operands(node)?.into_iter().map(|value| Ok((value, extent(&value)?))).collect()
}

/// The axis of the root, counted from the front.
fn axis_from_front(matched: &Matched<'_>, axis: &Attribute) -> Res<usize> {
    let rank = matched.root().output(0).and_then(ValueRef::rank).ok_or("the rank is not known")?;
    axis_of(axis.int().ok_or("it has no axis")?, rank)
}

fn concat<'h>(cx: &Rewrite<'h>, values: &[ValueRef<'h>], axis: usize) -> ValueRef<'h> {
    cx.concat(values, axis as i64)
}

/// The root over the operands of its operands that concatenate along the same axis.
fn flattened<'h>(cx: &Rewrite<'h>, axis: &Attribute) -> Res<ValueRef<'h>> {
    let axis = axis_from_front(cx.matched(), axis)?;
    let mut parts = Vec::new();
    let mut found = false;
    for operand in operands(cx.matched().root())? {
        let inner = made(Some(operand)).ok().filter(|node| {
            let own = node.as_op(op::Concat).and_then(op::View::<op::Concat>::axis).zip(operand.rank());
            let own = own.map(|(own, rank)| axis_of(own, rank));
            operand.only_use().is_some() && own == Some(Ok(axis))
        });
        match inner {
            Some(node) => {
                found = true;
                parts.extend(operands(node)?);
            }
            None => parts.push(operand),
        }
    }
    if found {
        Ok(concat(cx, &parts, axis))
    } else {
        Err("no operand is joined along the axis for it alone".into())
    }
}

/// The root without the operands that have no elements.
fn filled<'h>(cx: &Rewrite<'h>, axis: &Attribute) -> Res<ValueRef<'h>> {
    let axis = axis_from_front(cx.matched(), axis)?;
    let joined = cx.matched().root().output(0).ok_or("it makes nothing")?;
    let all = pieces(joined, axis)?;
    let kept: Vec<ValueRef<'h>> =
        all.iter().filter(|(_, extent)| !extent.is(0)).map(|(value, _)| *value).collect();
    match kept.len() {
        0 => Err("all are empty".into()),
        count if count == all.len() => Err("none is empty".into()),
        1 => Ok(*kept.first().ok_or("none is left")?),
        _ => Ok(concat(cx, &kept, axis)),
    }
}

/// Whether the operands are all parts of one split, in order.
fn are_all_parts(matched: &Matched<'_>, x: ValueRef<'_>, axis: &Attribute) -> Res<()> {
    let root = matched.root();
    let split = made(root.input(0))?;
    let rank = x.rank().ok_or("the rank is not known")?;
    let own = axis_of(split.int("axis").ok_or("it has no axis")?, rank)?;
    let parts: Vec<Option<ValueRef<'_>>> = split.outputs();
    if own == axis_of(axis.int().ok_or("it has no axis")?, rank)? && root.inputs() == parts {
        return Ok(());
    }
    Err("they are others, in another order, or along another axis".into())
}

/// Whether the operands are slices of `x` along the axis, from its beginning to its end.
fn follow(matched: &Matched<'_>, x: ValueRef<'_>, axis: &Attribute) -> Res<()> {
    let axis = axis_from_front(matched, axis)?;
    let rank = x.rank().ok_or("the rank is not known")?;
    let mut at = 0;
    for operand in operands(matched.root())? {
        let node = made(Some(operand))?;
        if !node.is(op::Slice) || node.input(0) != Some(x) {
            return Err("an operand is not a slice of it".into());
        }
        let one = |place: usize, default: Option<i64>| -> Res<i64> {
            let Some(value) = node.input(place) else { return Ok(default.ok_or("a list is left out")?) };
            match crate::rewriting::ints(value)?[..] {
                [n] => Ok(n),
                _ => Err("a slice cuts several axes".into()),
            }
        };
        let (start, end, along, step) = (one(1, None)?, one(2, None)?, one(3, Some(0))?, one(4, Some(1))?);
        if axis_of(along, rank)? != axis || step != 1 || start != at || end < start {
            return Err("they do not follow each other".into());
        }
        at = end;
    }
    // The last end lies at or behind the end of the axis if the sizes add up.
    keeps_shape(matched, x)
}

/// The tensors that were joined, where the split parts them.
fn taken_apart<'h>(cx: &Rewrite<'h>, axis: &Attribute) -> Res<Vec<ValueRef<'h>>> {
    let root = cx.matched().root();
    let joined = root.input(0).ok_or("it has no operand")?;
    let rank = joined.rank().ok_or("the rank is not known")?;
    let axis = axis_of(axis.int().ok_or("it has no axis")?, rank)?;
    let parts = root.outputs();
    let all = pieces(joined, axis)?;
    if axis_of(root.int("axis").ok_or("it has no axis")?, rank)? != axis || parts.len() != all.len() {
        return Err("it is split along another axis, or in another number of parts".into());
    }
    for (part, (_, extent)) in parts.iter().zip(&all) {
        let shape = part.and_then(ValueRef::shape).unwrap_or_default();
        if !shape.get(axis).is_some_and(|is| is_one(*is, *extent)) {
            return Err("it is split at other positions".into());
        }
    }
    Ok(all.into_iter().map(|(value, _)| value).collect())
}
