//! Sequences whose items are known, and values that are there.

use onnxport_sdk::prelude::*;

use crate::rewriting::{inner, ints, operands};

rules! {
    #![class = exact]

    /// Replaces an item of a sequence that was constructed from tensors by the tensor.
    item_of_sequence: SequenceAt(shared SequenceConstruct(_, ..), const place) => item(cx, place);

    /// Replaces the concatenation of a constructed sequence by a `Concat` of its tensors.
    concat_of_sequence: ConcatFromSequence(shared SequenceConstruct(_, ..), axis = axis) => joined(cx, axis);

    /// Replaces the element of a constructed optional value by the value.
    element_of_optional: OptionalGetElement(shared Optional(x)) => x;
}

fn item<'h>(cx: &Rewrite<'h>, place: ValueRef<'h>) -> Res<ValueRef<'h>> {
    let items = operands(inner(cx.matched())?)?;
    let place = crate::rewriting::axis_of(*ints(place)?.first().ok_or("there is no place")?, items.len())?;
    Ok(items.get(place).copied().ok_or("there is no such item")?)
}

fn joined<'h>(cx: &Rewrite<'h>, axis: &Attribute) -> Res<ValueRef<'h>> {
    let axis = axis.int().ok_or("it has no axis")?;
    Ok(cx.concat(&operands(inner(cx.matched())?)?, axis))
}
