//! Edits of graphs that several transforms of weights need.

use crate::ir::{Attr, Attribute, Graph, NodeId, Type, ValueId};
use crate::tensor::LazyTensor;

/// Gives the data and the name of the weight `old` to a new initializer at its place in the order, and
/// returns that. Nothing reads it yet; `old` still has its readers and no name.
pub(super) fn supplant(graph: &mut Graph, old: ValueId, data: LazyTensor) -> ValueId {
    let name = graph.values[old].name.take();
    let new = graph.add_weight(name, data);
    graph.swap_initializers(old, new);
    new
}

/// Adds a node to the start of the main block; its only output has the type `ty`.
pub(super) fn prepend(
    graph: &mut Graph,
    op: &str,
    inputs: &[ValueId],
    attributes: &[(&str, i64)],
    ty: Type,
) -> Option<ValueId> {
    let main = graph.main();
    let first = graph.order(main).next();
    let attributes =
        attributes.iter().map(|(name, n)| Attribute { name: (*name).into(), value: Attr::Int(*n) });
    let inputs = inputs.iter().copied().map(Some);
    let node: NodeId = graph.append(main, "", op, inputs, attributes.collect(), 1, None);
    if let Some(first) = first {
        graph.move_before(node, first);
    }
    let output = graph.nodes[node].outputs.first().copied().flatten()?;
    graph.values[output].ty = ty;
    Some(output)
}
