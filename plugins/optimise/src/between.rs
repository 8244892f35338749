//! Operators on single elements between two reshapes, of which the second undoes the first: they need neither.

use onnxport_sdk::prelude::*;

use crate::rewriting::{inner, known, over};

rules! {
    #![class = exact]

    /// Removes reshapes before and after an elementwise operator.
    reshaped_around_one (priority = -1): view(each(r)) if is_reshaped(r) => within(cx);

    /// Removes reshapes before and after a broadcasting operator with two reshaped operands, or with one and a scalar.
    reshaped_around_two (priority = -1):
        view(each(a, b)) if is_reshaped(a).or_else(|_| is_reshaped(b)) => within(cx);

    /// Removes reshapes before and after an operator of three operands that broadcasts, such as `Where`.
    reshaped_around_three (priority = -1):
        view(each(a, b, c)) if is_reshaped(a).or_else(|_| is_reshaped(b)).or_else(|_| is_reshaped(c)) => within(cx);
}

/// `value` before it was reshaped.
fn source(value: ValueRef<'_>) -> Option<ValueRef<'_>> {
    let (node, _) = value.producer()?;
    if node.traits().has(Traits::RESHAPES) { node.input(0) } else { None }
}

fn is_reshaped(value: ValueRef<'_>) -> Res<()> {
    source(value).map(|_| ()).ok_or_else(|| "the operand was not reshaped".into())
}

/// Whether the root is a `Reshape` from `from` to `to` that may give another shape than `to`: in place of a 0 it copies the
/// size of its operand. Where no more than one size is 0, the copy is 0 as well, or the operator fails.
fn copies_zero(cx: &Rewrite<'_>, from: &[Dim], to: &[Dim]) -> bool {
    let least = |dim: &Dim| dim.as_const().unwrap_or_else(|| cx.graph().dim_range(*dim).min);
    let empty: Vec<usize> =
        to.iter().enumerate().filter(|(_, dim)| least(dim) < 1).map(|(at, _)| at).collect();
    let root = cx.matched().root();
    root.as_op(op::Reshape).is_some_and(|reshape| reshape.allowzero() == Some(0))
        && empty.len() > 1
        && empty.iter().any(|at| from.get(*at) != to.get(*at))
}

/// The operator below the root over its operands before they were reshaped.
fn within<'h>(cx: &Rewrite<'h>) -> Res<ValueRef<'h>> {
    let node = inner(cx.matched())?;
    let shape = known(cx.matched().root().output(0).ok_or("it makes nothing")?)?;
    let between = known(node.output(0).ok_or("the operator makes nothing")?)?;
    let before = |operand: ValueRef<'h>| -> Res<ValueRef<'h>> {
        let single =
            operand.shape().filter(|own| own.len() <= shape.len() && own.iter().all(|dim| dim.is(1)));
        if single.is_some() {
            return Ok(operand);
        }
        let source = source(operand).ok_or("an operand is not reshaped and has several elements")?;
        if known(operand)? == between && known(source)? == shape {
            Ok(source)
        } else {
            Err("it had another shape before than it has afterwards".into())
        }
    };
    let operands: Vec<Option<ValueRef<'h>>> =
        node.inputs().into_iter().map(|operand| operand.map(before).transpose()).collect::<Res<_>>()?;
    if copies_zero(cx, &between, &shape) {
        return Err("a size may be 0, which the reshape replaces by a copied one".into());
    }
    if operands.iter().flatten().all(|operand| operand.shape().as_deref() != Some(&shape[..])) {
        return Err("no operand has the shape of the result".into());
    }
    Ok(over(cx, node, operands))
}
