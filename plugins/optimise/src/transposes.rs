//! Transposes.

use onnxport_sdk::prelude::*;

use crate::rewriting::{again, axis_of, inner, made, operands, with};

rules! {
    #![class = exact]

    /// Two transposes in a row.
    transpose_transpose:
        Transpose(Transpose(x, perm = p), perm = q) => Transpose(x, perm = compose(p, q));

    /// A transpose that leaves every axis where it is.
    transpose_to_itself (priority = 1): Transpose(x, perm = p) if is_identity(p) => x;

    /// Transposes around an operator that treats every element alone.
    transpose_around_one:
        let t = Transpose(_x, perm = p);
        Transpose(
            (
                Abs(t) | Neg(t) | Relu(t) | Sigmoid(t) | Tanh(t) | Exp(t) | Log(t) | Sqrt(t) | Reciprocal(t) | Erf(t)
                | Floor(t) | Ceil(t) | Round(t) | Sign(t) | Not(t) | Softplus(t) | Sin(t) | Cos(t) | IsNaN(t)
                | Cast(t, ..) | Clip(t, ..) | LeakyRelu(t, ..) | Elu(t, ..) | Gelu(t, ..) | HardSwish(t)
                | HardSigmoid(t, ..)
            ),
            perm = q
        )
        => below(cx, compose(p, q)?);

    /// An operator over two tensors that were turned alike turns one.
    transposed_alike:
        let a = Transpose(_x, perm = p);
        let b = Transpose(_y, perm = p);
        (
            Add(a, b) | Sub(a, b) | Mul(a, b) | Div(a, b) | And(a, b) | Or(a, b) | Equal(a, b) | Less(a, b)
            | Greater(a, b) | Max(a, b) | Min(a, b)
        )
        => turned(cx, p);

    /// Tensors that are turned alike and joined are joined and turned.
    concat_of_transposed: Concat(Transpose(_x, perm = p), axis = axis, ..) => joined(cx, p, axis);
}

fn is_identity(p: &Attribute) -> Res<()> {
    let axes = p.ints().unwrap_or_default();
    if axes.iter().zip(0..).all(|(axis, place)| *axis == place) {
        return Ok(());
    }
    Err(format!("the axes move: {axes:?}").into())
}

/// What the transposes `values` turn, which have as many axes each.
fn sources<'h>(values: &[ValueRef<'h>], rank: usize) -> Res<Vec<ValueRef<'h>>> {
    let source = |value: &ValueRef<'h>| -> Res<ValueRef<'h>> {
        Ok(made(Some(*value))?.input(0).ok_or("it turns nothing")?)
    };
    let found: Vec<ValueRef<'h>> = values.iter().map(source).collect::<Res<_>>()?;
    if found.iter().all(|x| x.rank() == Some(rank)) { Ok(found) } else { Err("the ranks differ".into()) }
}

/// The operator below the root over what is turned, and `perm` behind it.
fn below<'h>(cx: &Rewrite<'h>, perm: Vec<i64>) -> Res<ValueRef<'h>> {
    let node = inner(cx.matched())?;
    let turns = |value: &ValueRef<'h>| made(Some(*value)).is_ok_and(|node| node.is("Transpose"));
    // Limits of a clip and the like stay.
    let (turned, kept): (Vec<_>, Vec<_>) =
        node.inputs().into_iter().partition(|v| v.as_ref().is_some_and(turns));
    let turned: Vec<ValueRef<'h>> = turned.into_iter().flatten().collect();
    let inner = rebuilt(cx, node, sources(&turned, perm.len())?, kept);
    if perm.iter().zip(0..).all(|(axis, place)| *axis == place) {
        return Ok(inner);
    }
    Ok(cx.op("Transpose").input(inner).ints("perm", &perm).one())
}

/// `node` over other operands in front of those that stay.
fn rebuilt<'h>(
    cx: &Rewrite<'h>,
    node: NodeRef<'h>,
    operands: Vec<ValueRef<'h>>,
    kept: Vec<Option<ValueRef<'h>>>,
) -> ValueRef<'h> {
    let (op, attributes) = (node.op(), node.attributes_but(&[]));
    let new = kept.into_iter().fold(cx.op(&op).inputs(operands), onnxport_sdk::NodeBuilder::maybe);
    attributes.iter().fold(new, |new, (name, value)| new.set(name, value.clone())).one()
}

/// The root over what its operands turn, and turned itself.
fn turned<'h>(cx: &Rewrite<'h>, p: &Attribute) -> Res<ValueRef<'h>> {
    let perm = p.ints().ok_or("there is no permutation")?;
    let root = cx.matched().root();
    let result = again(cx, root, sources(&operands(root)?, perm.len())?);
    Ok(cx.op("Transpose").input(result).ints("perm", perm).one())
}

/// What is joined, before it is turned.
fn joined<'h>(cx: &Rewrite<'h>, p: &Attribute, axis: &Attribute) -> Res<ValueRef<'h>> {
    let (Some(perm), Some(axis)) = (p.ints(), axis.int()) else {
        return Err("an attribute is missing".into());
    };
    let root = cx.matched().root();
    let parts = operands(root)?;
    for part in &parts {
        let node = made(Some(*part))?;
        if !node.is("Transpose") || node.ints("perm").as_deref() != Some(perm) || part.only_use().is_none() {
            return Err("another operand is not turned alike, or is read elsewhere".into());
        }
    }
    if parts.len() < 2 {
        return Err("it joins nothing".into());
    }
    let before = perm.get(axis_of(axis, perm.len())?).copied().ok_or("there is no such axis")?;
    let result = with(cx, root, sources(&parts, perm.len())?, &[("axis", Attribute::Int(before))]);
    Ok(cx.op("Transpose").input(result).ints("perm", perm).one())
}
