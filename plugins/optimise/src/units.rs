//! Turns that move nothing but axes of one element: the bytes stay where they are, so that a reshape does the same.

use onnxport_sdk::prelude::*;

use crate::rewriting::{axes_of, ints, known};
use crate::shapes::reshaping;

rules! {
    #![class = exact]

    /// Merges a `Reshape` with a preceding `Transpose` that only moves axes of size 1.
    reshape_of_moved_units (priority = -1): Transpose(inner @ Reshape(x, _, ..), perm = p)
        if moves_units(inner.output(0), p)
        => reshaped(cx, x);

    /// Merges a `Reshape` with a following `Transpose` that only moves axes of size 1.
    moved_units_of_reshape (priority = -1): Reshape(Transpose(x, perm = p), _, ..)
        if moves_units(Some(x), p)
        => reshaped(cx, x);

    /// Squeezes axes without a preceding `Transpose` that only moves them.
    squeeze_of_moved_units: Squeeze(Transpose(x, perm = p), const gone) => squeezed(cx, x, p, gone);
}

/// `x` without the axes that `gone` are behind the turn, where the others keep their order.
fn squeezed<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    perm: &Attribute,
    gone: ValueRef<'h>,
) -> Res<ValueRef<'h>> {
    let perm = perm.ints().ok_or("there is no permutation")?;
    let gone = axes_of(&ints(gone)?, perm.len())?;
    let (gone, kept): (Vec<_>, Vec<_>) = perm.iter().enumerate().partition(|(place, _)| gone.contains(place));
    if !kept.is_sorted_by_key(|(_, axis)| **axis) {
        return Err("an axis that stays moves".into());
    }
    let mut axes: Vec<i64> = gone.into_iter().map(|(_, axis)| *axis).collect();
    axes.sort_unstable();
    Ok(cx.squeeze(x, &axes))
}

/// Whether axes move, and those of `x` of more than one element keep their order.
fn moves_units(x: Option<ValueRef<'_>>, perm: &Attribute) -> Res<()> {
    let shape = known(x.ok_or("the transpose has no operand")?)?;
    let perm = perm.ints().ok_or("there is no permutation")?;
    if perm.iter().zip(0..).all(|(axis, place)| *axis == place) {
        return Err("no axis moves".into());
    }
    let mut last = -1;
    for axis in perm {
        let extent =
            usize::try_from(*axis).ok().and_then(|axis| shape.get(axis)).ok_or("there is no such axis")?;
        if extent.is(1) {
            continue;
        }
        if *axis < last {
            return Err("an axis of several elements moves".into());
        }
        last = *axis;
    }
    Ok(())
}

/// `x` in the shape of the root, which a constant states.
fn reshaped<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>) -> Res<ValueRef<'h>> {
    let output = cx.matched().root().output(0).ok_or("it makes nothing")?;
    let shape = reshaping(x, &known(output)?)?;
    Ok(cx.reshape(x, &shape))
}
