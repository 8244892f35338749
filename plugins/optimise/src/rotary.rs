//! Keys that are transposed for a rotary embedding, and again for the scores.

use onnxport_sdk::prelude::*;

use crate::rewriting::{ints, operands, with};

rules! {
    #![class = exact]

    /// Moves a rotary embedding between two transposes, the first of which puts heads before positions, before both,
    /// which become one transpose. From opset 23 on, rotary embeddings and attention are operators.
    rotary_between_transposes (opset = 13..=22):
        let heads = Transpose(x, perm = [0, 2, 1, 3]);
        let upper = Slice(heads, _, _, const high, ..);
        let lower = Slice(heads, _, _, const low, ..);
        let cos = shared Unsqueeze(angles: [_, _, _], const places);
        let sin = shared Unsqueeze(other: [_, _, _], const places);
        Transpose(Add(Mul(heads, cos), Mul(Concat(Neg(upper), lower, axis = axis), sin)), perm = q)
        if is_last([high, low], places, axis)
        => rotated(cx, x, [upper, lower], [angles, other], compose(&Attribute::Ints(vec![0, 2, 1, 3]), q)?);
}

/// Whether slices and their join are about the last of four axes, and angles have their new axis before the positions.
fn is_last(cuts: [ValueRef<'_>; 2], places: ValueRef<'_>, axis: &Attribute) -> Res<()> {
    let cut = cuts.iter().map(|axes| ints(*axes)).collect::<Res<Vec<_>>>()?;
    let along = cut.iter().all(|axes| matches!(axes[..], [3 | -1])) && matches!(axis.int(), Some(3 | -1));
    if along && matches!(ints(places)?[..], [1 | -3]) {
        Ok(())
    } else {
        Err("the split axis is not the last one, or the angles do not depend on positions".into())
    }
}

fn rotated<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    parts: [NodeRef<'h>; 2],
    angles: [ValueRef<'h>; 2],
    perm: Vec<i64>,
) -> Res<ValueRef<'h>> {
    let part = |node: NodeRef<'h>| -> Res<ValueRef<'h>> {
        let rest = operands(node)?.into_iter().skip(1);
        Ok(with(cx, node, std::iter::once(x).chain(rest), &[]))
    };
    let [upper, lower] = parts;
    let [cos, sin] = angles.map(|angles| cx.unsqueeze(angles, &[2]));
    let rotated = cx.concat(&[cx.neg(part(upper)?), part(lower)?], -1);
    let sum = cx.add(cx.mul(x, cos), cx.mul(rotated, sin));
    Ok(cx.op(op::Transpose).input(sum).perm(&perm).one())
}
