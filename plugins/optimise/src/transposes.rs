//! Transposes.

use onnxport_sdk::prelude::*;

use crate::rewriting::{again, axis_of, inner, made, operands, over, with};

rules! {
    #![class = exact]

    /// Merges two consecutive `Transpose`s.
    transpose_transpose:
        Transpose(Transpose(x, perm = p), perm = q) => Transpose(x, perm = compose(p, q));

    /// Removes a `Transpose` that keeps every axis in place.
    transpose_to_itself (priority = 1): Transpose(x, perm = p) if is_identity(p) => x;

    /// Merges two transposes around an elementwise operator.
    transpose_around_one:
        Transpose(each(Transpose(_x, perm = p)), perm = q) => below(cx, compose(p, q)?);

    /// Transposes the result of a broadcasting operator instead of both operands.
    transpose_of_operands:
        each(Transpose(_x, perm = p), Transpose(_y, perm = p)) => transposed(cx, p);

    /// Transposes the result of a broadcasting operator instead of its three operands.
    transpose_of_three_operands:
        each(Transpose(_x, perm = p), Transpose(_y, perm = p), Transpose(_z, perm = p)) => transposed(cx, p);

    /// Transposes concatenated tensors once instead of each before the `Concat`.
    concat_of_transposed: Concat(Transpose(_x, perm = p), axis = axis, ..) => joined(cx, p, axis);
}

fn is_identity(p: &Attribute) -> Res<()> {
    let axes = p.ints().unwrap_or_default();
    if axes.iter().zip(0..).all(|(axis, place)| *axis == place) {
        return Ok(());
    }
    Err(format!("the axes move: {axes:?}").into())
}

/// The operands of the transposes `values`, which have as many axes each.
fn sources<'h>(values: &[ValueRef<'h>], rank: usize) -> Res<Vec<ValueRef<'h>>> {
    let source = |value: &ValueRef<'h>| -> Res<ValueRef<'h>> {
        Ok(made(Some(*value))?.input(0).ok_or("the transpose has no operand")?)
    };
    let found: Vec<ValueRef<'h>> = values.iter().map(source).collect::<Res<_>>()?;
    if found.iter().all(|x| x.rank() == Some(rank)) { Ok(found) } else { Err("the ranks differ".into()) }
}

/// The operator below the root over the untransposed operand, followed by `perm`.
fn below<'h>(cx: &Rewrite<'h>, perm: Vec<i64>) -> Res<ValueRef<'h>> {
    let node = inner(cx.matched())?;
    let transposed: Vec<ValueRef<'h>> = node.input(0).into_iter().collect();
    // Limits of a clip and the like stay.
    let operands = sources(&transposed, perm.len())?.into_iter().map(Some);
    let inner = over(cx, node, operands.chain(node.inputs().into_iter().skip(1)));
    if perm.iter().zip(0..).all(|(axis, place)| *axis == place) {
        return Ok(inner);
    }
    Ok(cx.op(op::Transpose).input(inner).perm(&perm).one())
}

/// The root over the untransposed operands, transposed itself.
fn transposed<'h>(cx: &Rewrite<'h>, p: &Attribute) -> Res<ValueRef<'h>> {
    let perm = p.ints().ok_or("there is no permutation")?;
    let root = cx.matched().root();
    let result = again(cx, root, sources(&operands(root)?, perm.len())?);
    Ok(cx.op(op::Transpose).input(result).perm(perm).one())
}

/// The concatenation of the untransposed operands.
fn joined<'h>(cx: &Rewrite<'h>, p: &Attribute, axis: &Attribute) -> Res<ValueRef<'h>> {
    let (Some(perm), Some(axis)) = (p.ints(), axis.int()) else {
        return Err("an attribute is missing".into());
    };
    let root = cx.matched().root();
    let parts = operands(root)?;
    for part in &parts {
        let node = made(Some(*part))?;
        let own = node.as_op(op::Transpose).and_then(op::View::<op::Transpose>::perm);
        if own.as_deref() != Some(perm) || part.only_use().is_none() {
            return Err("another operand is not transposed in the same way, or has other readers".into());
        }
    }
    if parts.len() < 2 {
        return Err("it joins nothing".into());
    }
    let before = perm.get(axis_of(axis, perm.len())?).copied().ok_or("there is no such axis")?;
    let result = with(cx, root, sources(&parts, perm.len())?, &[("axis", Attribute::Int(before))]);
    Ok(cx.op(op::Transpose).input(result).perm(perm).one())
}
