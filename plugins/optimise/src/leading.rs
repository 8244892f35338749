//! New axes in front, which operators that broadcast their operands give these anyway.

use onnxport_sdk::prelude::*;

use crate::rewriting::{again, axes_of, ints, made, operands};

rules! {
    #![class = exact]

    /// Removes leading new axes of an operand that broadcasting brings to the rank of another operand.
    unsqueeze_before_broadcast:
        let u = shared Unsqueeze(_x, const _axes);
        (each(u, _) | each(_, u) | each(u, _, _) | each(_, u, _) | each(_, _, u))
        => as_it_was(cx);
}

/// The root over an operand as it was before it got axes in front, where another operand has its rank.
fn as_it_was<'h>(cx: &Rewrite<'h>) -> Res<ValueRef<'h>> {
    let root = cx.matched().root();
    let mut inputs = operands(root)?;
    let ranks: Vec<usize> =
        inputs.iter().map(|value| value.rank()).collect::<Option<_>>().ok_or("a rank is not known")?;
    for (place, rank) in ranks.iter().enumerate() {
        let others = ranks.iter().enumerate().filter(|(at, _)| *at != place);
        if others.map(|(_, other)| other).max() < Some(rank) {
            continue;
        }
        let Some(input) = inputs.get_mut(place) else { continue };
        if let Some(x) = behind_new_axes(*input, *rank)? {
            *input = x;
            return Ok(again(cx, root, inputs));
        }
    }
    Err("no operand has new axes in front alone, and another one its rank".into())
}

/// `value`, of `rank` axes, before new leading axes were added.
fn behind_new_axes(value: ValueRef<'_>, rank: usize) -> Res<Option<ValueRef<'_>>> {
    let Ok(node) = made(Some(value)) else { return Ok(None) };
    let (true, Some(x), Some(axes)) = (node.is(op::Unsqueeze), node.input(0), node.input(1)) else {
        return Ok(None);
    };
    let in_front = axes_of(&ints(axes)?, rank)?.into_iter().eq(0..rank - x.rank().unwrap_or(rank));
    Ok(in_front.then_some(x))
}
