//! Axes that come and go.

use onnxport_sdk::prelude::*;

use crate::rewriting::{axes_of, inner, ints, operands, with};
use crate::shapes::keeps_shape;

rules! {
    #![class = exact]

    /// Removes an `Unsqueeze` and a `Squeeze` of the same axes.
    unsqueeze_squeeze (priority = 1): Squeeze(Unsqueeze(x, const inner), const outer) if same(matched, inner, outer) => x;

    /// Removes a `Squeeze` and an `Unsqueeze` of the same axes.
    squeeze_unsqueeze (priority = 1): Unsqueeze(Squeeze(x, ..), _) if keeps_shape(matched, x) => x;

    /// Merges an `Unsqueeze` and a `Squeeze` that have some axes in common.
    unsqueeze_squeeze_some:
        Squeeze(shared Unsqueeze(x, const new), const gone) => left(cx, x, new, gone);

    /// Merges two consecutive `Unsqueeze`s.
    unsqueeze_twice:
        Unsqueeze(shared Unsqueeze(x, const first), const second) => Unsqueeze(x, merged_new(cx, x, first, second)?);

    /// Merges two consecutive `Squeeze`s.
    squeeze_twice:
        Squeeze(Squeeze(x, const first), const second) => Squeeze(x, merged_gone(cx, x, first, second)?);

    /// Removes a `Squeeze` of the axes that a reduction keeps.
    squeeze_of_reduction (opset = 18..):
        Squeeze(reduce(x, const axes), const gone) => reduced(cx, gone, 0);

    /// Removes an `Unsqueeze` that restores the axes that a reduction removes.
    unsqueeze_of_reduction (opset = 18..):
        Unsqueeze(reduce(x, const axes), const new) => reduced(cx, new, 1);

    /// Removes a reduction over no axes. A sum would change -0 to 0.
    reduction_of_nothing (opset = 18..):
        (
            ReduceMax(x, const axes?, noop_with_empty_axes = 1, ..) | ReduceMin(x, const axes?, noop_with_empty_axes = 1, ..)
            | ReduceProd(x, const axes?, noop_with_empty_axes = 1, ..)
        ) if is_empty(axes) => x;

    /// Removes a reduction over axes of size 1, such as the mean over an image of one pixel. -0 is kept, which some
    /// operators would change to 0.
    reduction_of_single (class = bounded(ulps = 1)):
        (
            GlobalAveragePool(x) | GlobalMaxPool(x) | ReduceMean(x, ..) | ReduceSum(x, ..) | ReduceMax(x, ..)
            | ReduceMin(x, ..) | ReduceProd(x, ..)
        ) if keeps_shape(matched, x) => x;
}

/// The axes that a `Squeeze` drops. Runtimes do not agree on an empty list: some drop every axis of size 1.
fn gone_axes(axes: ValueRef<'_>) -> Res<Vec<i64>> {
    let axes = ints(axes)?;
    if axes.is_empty() { Err("it names no axes to drop".into()) } else { Ok(axes) }
}

/// Whether both name the same axes of the tensor with the new ones.
fn same(matched: &Matched<'_>, inner_axes: ValueRef<'_>, outer: ValueRef<'_>) -> Res<()> {
    let made = inner(matched)?.output(0);
    let (inner_axes, outer) = (ints(inner_axes)?, gone_axes(outer)?);
    if inner_axes == outer {
        return Ok(());
    }
    let rank = made.and_then(ValueRef::rank).ok_or("the rank is not known")?;
    if axes_of(&inner_axes, rank)? == axes_of(&outer, rank)? {
        return Ok(());
    }
    Err("they name other axes".into())
}

/// `x` with those of the axes `new` that do not go, or without those of the axes `gone` that are not new.
fn left<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, new: ValueRef<'h>, gone: ValueRef<'h>) -> Res<ValueRef<'h>> {
    let (new, gone) = (ints(new)?, gone_axes(gone)?);
    let rank = x.rank().ok_or("the rank is not known")? + new.len();
    let (new, gone) = (axes_of(&new, rank)?, axes_of(&gone, rank)?);
    // The axes of `these` that `those` lack, as they are counted where `those` are not.
    let without = |these: &[usize], those: &[usize]| -> Vec<i64> {
        let kept = these.iter().filter(|axis| !those.contains(axis));
        kept.map(|axis| (axis - those.iter().filter(|other| *other < axis).count()) as i64).collect()
    };
    let (stay, go) = (without(&new, &gone), without(&gone, &new));
    match (stay.is_empty(), go.is_empty()) {
        (true, true) => Ok(x),
        (false, true) => Ok(cx.unsqueeze(x, &stay)),
        (true, false) => Ok(cx.squeeze(x, &go)),
        (false, false) => Err("others come than go".into()),
    }
}

/// The new axes of both.
fn merged_new<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    first: ValueRef<'h>,
    second: ValueRef<'h>,
) -> Res<ValueRef<'h>> {
    let (first, second) = (ints(first)?, ints(second)?);
    let rank = x.rank().ok_or("the rank is not known")? + first.len();
    let first = axes_of(&first, rank)?;
    let second = axes_of(&second, rank + second.len())?;
    // The axes of the inner result take the remaining positions.
    let places: Vec<usize> = (0..rank + second.len()).filter(|place| !second.contains(place)).collect();
    let moved = first.iter().filter_map(|axis| places.get(*axis).copied());
    Ok(cx.ints(&sorted(moved.chain(second.iter().copied()))))
}

/// The axes that go in both.
fn merged_gone<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    first: ValueRef<'h>,
    second: ValueRef<'h>,
) -> Res<ValueRef<'h>> {
    let rank = x.rank().ok_or("the rank is not known")?;
    let first = axes_of(&gone_axes(first)?, rank)?;
    let left: Vec<usize> = (0..rank).filter(|axis| !first.contains(axis)).collect();
    let second = axes_of(&gone_axes(second)?, left.len())?;
    let moved = second.iter().filter_map(|axis| left.get(*axis).copied());
    Ok(cx.ints(&sorted(first.iter().copied().chain(moved))))
}

fn sorted(axes: impl Iterator<Item = usize>) -> Vec<i64> {
    let mut axes: Vec<i64> = axes.map(|axis| axis as i64).collect();
    axes.sort_unstable();
    axes
}

/// The inner reduction with `keepdims`, if it has the opposite and reduces `axes`.
fn reduced<'h>(cx: &Rewrite<'h>, axes: ValueRef<'h>, keepdims: i64) -> Res<ValueRef<'h>> {
    let node = inner(cx.matched())?;
    if node.int("keepdims") != Some(1 - keepdims) {
        return Err("the axes are not those of the reduction".into());
    }
    let [x, of, ..] = operands(node)?[..] else { return Err("it has no axes".into()) };
    let rank = x.rank().ok_or("the rank is not known")?;
    let of = axes_of(&ints(of)?, rank)?;
    if of.is_empty() || of != axes_of(&ints(axes)?, rank)? {
        return Err("it reduces other axes".into());
    }
    Ok(with(cx, node, operands(node)?, &[("keepdims", Attribute::Int(keepdims))]))
}

fn is_empty(axes: Option<ValueRef<'_>>) -> Res<()> {
    match axes.map(ints).transpose()? {
        Some(axes) if !axes.is_empty() => Err("it reduces axes".into()),
        _ => Ok(()),
    }
}
