//! Packed tensors, such as query, key and value of one product, that are gathered after a transpose.

use onnxport_sdk::prelude::*;

use crate::rewriting::{axis_of, known};
use crate::shapes::reshaping;

rules! {
    #![class = exact]

    /// Splits two tensors that are packed along their own axis after the transpose, instead of gathering each: their
    /// axis is merged with the next one.
    unpack_two (opset = 13..):
        let transposed = shared Transpose(divided @ Reshape(x, _, ..), perm = p);
        (Gather(transposed, const a, axis = axis), Gather(transposed, const b, axis = axis))
        if are_all(transposed, &[a, b])
        => picked(cx, x, divided, p, axis, &[a, b]);

    /// Splits three tensors that are packed along their own axis after the transpose, as `unpack_two` does.
    unpack_three (opset = 13..):
        let transposed = shared Transpose(divided @ Reshape(x, _, ..), perm = p);
        (Gather(transposed, const a, axis = axis), Gather(transposed, const b, axis = axis), Gather(transposed, const c, axis = axis))
        if are_all(transposed, &[a, b, c])
        => picked(cx, x, divided, p, axis, &[a, b, c]);
}

/// Which element of an axis of `count` a single number picks.
fn place(index: ValueRef<'_>, count: usize) -> Res<usize> {
    match index.constant().and_then(|index| index.ints()).as_deref() {
        Some([at]) if index.rank() == Some(0) => axis_of(*at, count),
        _ => Err("it is not a single element that is picked".into()),
    }
}

/// Whether each element is gathered once, and nothing else reads the transposed value.
fn are_all(transposed: NodeRef<'_>, indices: &[ValueRef<'_>]) -> Res<()> {
    let mut places: Vec<usize> =
        indices.iter().map(|index| place(*index, indices.len())).collect::<Res<_>>()?;
    places.sort_unstable();
    let whole = transposed.output(0).ok_or("the transpose has no result")?;
    if places.into_iter().eq(0..indices.len()) && !whole.is_returned() && whole.uses().len() == indices.len()
    {
        Ok(())
    } else {
        Err("an element is picked twice, or not at all".into())
    }
}

fn picked<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    divided: NodeRef<'h>,
    perm: &Attribute,
    axis: &Attribute,
    indices: &[ValueRef<'h>],
) -> Res<Vec<ValueRef<'h>>> {
    let mut shape = known(divided.output(0).ok_or("nothing is divided")?)?;
    let (perm, axis) = perm.ints().zip(axis.int()).ok_or("an attribute is missing")?;
    let axis = axis_of(axis, perm.len())?;
    let own = perm.get(axis).copied().ok_or("there is no such axis")?;
    let at = axis_of(own, shape.len())?;
    if !shape.get(at).is_some_and(|count| count.is(indices.len() as i64)) {
        return Err("the axis has other elements, too".into());
    }
    // The axis goes into the next one.
    shape.remove(at);
    let next = shape.get_mut(at).ok_or("the axis is the last one")?;
    let width = next.as_const().filter(|width| *width > 0).ok_or("the next size is not known")?;
    *next = Dim::Const(width.checked_mul(indices.len() as i64).ok_or("the next size is too large")?);
    let order: Vec<usize> = perm
        .iter()
        .filter(|source| **source != own)
        .map(|source| axis_of(if *source > own { source - 1 } else { *source }, shape.len()))
        .collect::<Res<_>>()?;
    let along = order.iter().position(|source| *source == at).ok_or("there is no such axis")?;
    let together = cx.reshape(x, &reshaping(x, &shape)?);
    let transposed =
        if order.iter().copied().eq(0..shape.len()) { together } else { cx.transpose(together, &order) };
    let widths = cx.ints(&vec![width; indices.len()]);
    let parts = cx.op(op::Split).input(transposed).input(widths).axis(along as i64).many(indices.len());
    let part = |index: &ValueRef<'h>| -> Res<ValueRef<'h>> {
        Ok(*parts.get(place(*index, indices.len())?).ok_or("there is no such part")?)
    };
    indices.iter().map(part).collect()
}
