//! Expansions and repetitions.

use onnxport_sdk::prelude::*;

use crate::rewriting::{again, ints, is_one, known, made, operands};
use crate::shapes::keeps_shape;

rules! {
    #![class = exact]

    /// Removes an `Expand` to the shape of its operand.
    expand_to_itself: Expand(x, _) if keeps_shape(matched, x) => x;

    /// Removes the first of two consecutive `Expand`s, if the second states the whole shape.
    expand_twice: Expand(Expand(x, _), shape) if states_result(matched, shape) => Expand(x, shape);

    /// Removes a `Tile` that repeats every axis once.
    tile_once: Tile(x, const repeats) if is_ones(repeats) => x;

    /// Removes an `Expand` before an operator that broadcasts its operands anyway.
    expand_before_broadcast:
        let e = Expand(_x, _);
        (each(e, _) | each(_, e) | each(e, _, _) | each(_, e, _) | each(_, _, e))
        => unexpanded(cx);
}

fn is_ones(repeats: ValueRef<'_>) -> Res<()> {
    if ints(repeats)?.iter().all(|count| *count == 1) { Ok(()) } else { Err("it repeats something".into()) }
}

/// Whether the elements of `shape` are the sizes of the result, so that none of these comes from the operand.
fn states_result(matched: &Matched<'_>, shape: ValueRef<'_>) -> Res<()> {
    let result = matched.root().output(0).ok_or("it makes nothing")?;
    if shape.contents().is_some_and(|stated| known(result).is_ok_and(|result| result == stated)) {
        return Ok(());
    }
    Err("the shape is not the one of the result".into())
}

/// The root without the first expansion among its operands, where the others have the shape of the result.
fn unexpanded<'h>(cx: &Rewrite<'h>) -> Res<ValueRef<'h>> {
    let root = cx.matched().root();
    let result = known(root.output(0).ok_or("it makes nothing")?)?;
    let mut inputs = operands(root)?;
    let expands = |value: &ValueRef<'h>| made(Some(*value)).is_ok_and(|node| node.is(op::Expand));
    for place in 0..inputs.len() {
        let Some(before) = inputs.get(place).copied().filter(expands) else { continue };
        let Some(x) = made(Some(before))?.input(0) else { continue };
        let others = inputs.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, value)| *value);
        let shapes: Vec<Vec<Dim>> = others.chain([x]).map(known).collect::<Res<_>>()?;
        if broadcast(&shapes, result.len()).is_some_and(|shape| shape == result) {
            if let Some(input) = inputs.get_mut(place) {
                *input = x;
            }
            return Ok(again(cx, root, inputs));
        }
    }
    Err("the result gets its shape from the expansion".into())
}

/// The shape of `rank` axes to which all of these broadcast, where it is told by equal sizes and ones.
fn broadcast(shapes: &[Vec<Dim>], rank: usize) -> Option<Vec<Dim>> {
    let mut result = vec![Dim::Const(1); rank];
    if shapes.iter().map(Vec::len).max() != Some(rank) {
        return None;
    }
    for shape in shapes {
        let start = rank.checked_sub(shape.len())?;
        for (is, dim) in result.get_mut(start..)?.iter_mut().zip(shape) {
            if is.is(1) {
                *is = *dim;
            } else if !dim.is(1) && !is_one(*is, *dim) {
                return None;
            }
        }
    }
    Some(result)
}
