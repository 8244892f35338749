//! Edits of graphs that the transforms of weights share.

use crate::ir::{Attr, Attribute, Graph, Model, NodeId, Type, ValueId};
use crate::op;
use crate::ops::infer::infer;
use crate::tensor::LazyTensor;

/// Moves the name of the weight `old` to a new initializer with `data` at its position, and returns that.
/// Nothing reads it yet; `old` still has its readers and no name.
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
    let inputs = inputs.iter().copied().map(Some);
    let node = graph.append(main, "", op, inputs, integers(attributes), 1, None);
    if let Some(first) = first {
        graph.move_before(node, first);
    }
    let output = graph.nodes[node].outputs.first().copied().flatten()?;
    graph.values[output].ty = ty;
    Some(output)
}

/// Whether `node` may run more than once in a run of the model: something else than branches of `If` holds it.
pub(super) fn is_repeated(graph: &Graph, node: NodeId) -> bool {
    let mut at = node;
    while let Some(holder) = graph.nodes[at].block.and_then(|block| graph.holder(block)) {
        if !graph.nodes[holder].is(op::If) {
            return true;
        }
        at = holder;
    }
    false
}

/// Returns the type of a node's first output.
pub(super) fn output_type(graph: &Graph, node: NodeId) -> Option<Type> {
    let output = graph.nodes[node].outputs.first().copied().flatten()?;
    Some(graph.values[output].ty.clone())
}

/// Makes all readers of the only output of `old` read `new`, which takes its name, and removes `old`.
pub(super) fn replace(graph: &mut Graph, old: NodeId, new: ValueId) {
    let Some(output) = graph.nodes[old].outputs.first().copied().flatten() else { return };
    graph.values[new].ty = graph.values[output].ty.clone();
    graph.values[new].name = graph.values[output].name.take();
    graph.replace_uses(output, new);
    graph.remove(old);
}

/// Inserts nodes before another one, with its origin.
pub(super) struct Front<'a> {
    pub(super) model: &'a mut Model,
    pub(super) next: NodeId,
}

impl Front<'_> {
    /// Adds an operator of ONNX with one output, whose type is inferred.
    pub(super) fn emit(
        &mut self,
        op: &str,
        inputs: &[ValueId],
        attributes: &[(&str, i64)],
    ) -> Option<ValueId> {
        self.append("", op, inputs, integers(attributes))
    }

    /// The same with any attributes.
    pub(super) fn emit_with(
        &mut self,
        op: &str,
        inputs: &[ValueId],
        attributes: Vec<Attribute>,
    ) -> Option<ValueId> {
        self.append("", op, inputs, attributes)
    }

    /// Adds an operator of another domain, whose output has the type `ty`.
    pub(super) fn foreign(
        &mut self,
        domain: &str,
        op: &str,
        inputs: &[ValueId],
        attributes: &[(&str, i64)],
        ty: Type,
    ) -> Option<ValueId> {
        let output = self.append(domain, op, inputs, integers(attributes))?;
        self.model.graph.values[output].ty = ty;
        Some(output)
    }

    fn append(
        &mut self,
        domain: &str,
        op: &str,
        inputs: &[ValueId],
        attributes: Vec<Attribute>,
    ) -> Option<ValueId> {
        let opset = self.model.opset();
        let graph = &mut self.model.graph;
        let (block, origin) = (graph.nodes[self.next].block?, graph.nodes[self.next].origin);
        let inputs = inputs.iter().copied().map(Some);
        let node = graph.append(block, domain, op, inputs, attributes, 1, origin);
        graph.move_before(node, self.next);
        infer(graph, &mut self.model.symbols, opset, node);
        self.model.graph.nodes[node].outputs.first().copied().flatten()
    }
}

fn integers(attributes: &[(&str, i64)]) -> Vec<Attribute> {
    let made = |(name, n): &(&str, i64)| Attribute { name: (*name).into(), value: Attr::Int(*n) };
    attributes.iter().map(made).collect()
}
