//! Common parts of builders and conditions.

use onnxport_sdk::prelude::*;

/// A node like `node`, with its attributes, over other inputs.
pub(crate) fn again<'h>(
    cx: &Rewrite<'h>,
    node: NodeRef<'h>,
    inputs: impl IntoIterator<Item = ValueRef<'h>>,
) -> ValueRef<'h> {
    with(cx, node, inputs, &[])
}

/// A node like `node` over other inputs, with these attributes instead of its own.
pub(crate) fn with<'h>(
    cx: &Rewrite<'h>,
    node: NodeRef<'h>,
    inputs: impl IntoIterator<Item = ValueRef<'h>>,
    set: &[(&str, Attribute)],
) -> ValueRef<'h> {
    let names: Vec<&str> = set.iter().map(|(name, _)| *name).collect();
    let (domain, op, kept) = (node.domain(), node.op(), node.attributes_but(&names));
    let new = cx.op_in(&domain, 1, &op).inputs(inputs);
    let new = kept.iter().fold(new, |new, (name, value)| new.set(name, value.clone()));
    set.iter().fold(new, |new, (name, value)| new.set(name, value.clone())).one()
}

/// A node like `node`, with its attributes, over other inputs, some of which may be left out.
pub(crate) fn over<'h>(
    cx: &Rewrite<'h>,
    node: NodeRef<'h>,
    inputs: impl IntoIterator<Item = Option<ValueRef<'h>>>,
) -> ValueRef<'h> {
    let (domain, op, attributes) = (node.domain(), node.op(), node.attributes_but(&[]));
    let new = inputs.into_iter().fold(cx.op_in(&domain, 1, &op), onnxport_sdk::NodeBuilder::maybe);
    attributes.iter().fold(new, |new, (name, value)| new.set(name, value.clone())).one()
}

/// The node that makes the first operand of the root.
pub(crate) fn inner<'h>(matched: &Matched<'h>) -> Res<NodeRef<'h>> {
    made(matched.root().input(0))
}

/// The node that makes `value`.
pub(crate) fn made(value: Option<ValueRef<'_>>) -> Res<NodeRef<'_>> {
    let (node, _) = value.and_then(ValueRef::producer).ok_or("no node makes the operand")?;
    Ok(node)
}

/// All inputs of a node, of which none is left out.
pub(crate) fn operands(node: NodeRef<'_>) -> Res<Vec<ValueRef<'_>>> {
    node.inputs().into_iter().collect::<Option<_>>().ok_or_else(|| "an operand is left out".into())
}

/// The integers of a constant.
pub(crate) fn ints(value: ValueRef<'_>) -> Res<Vec<i64>> {
    let found = value.constant().and_then(|literal| literal.ints());
    found.ok_or_else(|| "an operand is not an integer constant".into())
}

/// `axis` counted from the front.
pub(crate) fn axis_of(axis: i64, rank: usize) -> Res<usize> {
    let counted = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    let found = counted.and_then(|axis| usize::try_from(axis).ok()).filter(|axis| *axis < rank);
    found.ok_or_else(|| format!("axis {axis} is out of range for rank {rank}").into())
}

/// `axes` counted from the front, in ascending order.
pub(crate) fn axes_of(axes: &[i64], rank: usize) -> Res<Vec<usize>> {
    let mut found: Vec<usize> = axes.iter().map(|axis| axis_of(*axis, rank)).collect::<Res<_>>()?;
    found.sort_unstable();
    Ok(found)
}

/// Whether `first` and `second` are one size, which is known.
pub(crate) fn is_one(first: Dim, second: Dim) -> bool {
    first == second && first != Dim::Unknown
}

/// The sizes of a value, all of them known.
pub(crate) fn known(value: ValueRef<'_>) -> Res<Vec<Dim>> {
    match value.shape() {
        Some(shape) if !shape.contains(&Dim::Unknown) => Ok(shape),
        _ => Err("a shape is not known".into()),
    }
}
