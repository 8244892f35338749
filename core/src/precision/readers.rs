//! The readers of a weight: products, with the axis along which they sum, and lookups of rows.

use crate::ir::{Attr, Graph, NodeId, ValueId};
use crate::op;

/// A product that reads a weight as its second operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    /// The `MatMul` or `Gemm`.
    pub(super) node: NodeId,
    /// The axis of the weight along which it sums.
    pub(super) axis: usize,
}

/// The readers of a weight of two axes.
#[derive(Clone, Debug, Default)]
pub(super) struct Readers {
    /// Products that read it, directly or through a `Transpose`.
    pub(super) products: Vec<Product>,
    /// `Gather`s of its rows, as embeddings are.
    pub(super) lookups: Vec<NodeId>,
    /// Whether something else reads it, or the model returns it.
    pub(super) others: bool,
}

impl Readers {
    /// Returns the readers of the weight `value`.
    pub(super) fn for_value(graph: &Graph, opset: i64, value: ValueId) -> Self {
        let mut found = Self { others: graph.is_returned(value), ..Self::default() };
        for place in graph.values[value].uses() {
            let node = &graph.nodes[place.node];
            if node.is(op::Transpose) && swaps(node.attr("perm")) {
                let transposed = node.outputs.first().copied().flatten();
                let readers = transposed.map(|t| graph.values[t].uses()).unwrap_or_default();
                found.others |= transposed.is_none_or(|t| graph.is_returned(t));
                for reader in readers {
                    match axis(graph, opset, reader.node, reader.index) {
                        Some(axis) => found.products.push(Product { node: reader.node, axis: 1 - axis }),
                        None => found.others = true,
                    }
                }
            } else if let Some(axis) = axis(graph, opset, place.node, place.index) {
                found.products.push(Product { node: place.node, axis });
            } else if is_lookup(graph, opset, place.node, place.index) {
                found.lookups.push(place.node);
            } else {
                found.others = true;
            }
        }
        found
    }

    /// Returns the axis that all readers use: the summed axis, or the rows of a lookup; the last one if
    /// there is none. `None` if readers do not agree.
    pub(super) fn axis(&self) -> Option<usize> {
        let looked_up = self.lookups.iter().map(|_| 1);
        let mut axes = self.products.iter().map(|product| product.axis).chain(looked_up);
        let first = axes.next().unwrap_or(1);
        axes.all(|other| other == first).then_some(first)
    }
}

/// The axis of its second operand over which a product sums; `None` for other nodes and operands.
fn axis(graph: &Graph, opset: i64, node: NodeId, index: u32) -> Option<usize> {
    let node = &graph.nodes[node];
    if index != 1 || node.inputs.first() == node.inputs.get(1) {
        return None;
    }
    if node.is(op::MatMul) {
        return Some(0);
    }
    if !node.is(op::Gemm) {
        return None;
    }
    node.at(opset).flag("transB").map(usize::from)
}

/// Whether a node looks up rows of its operand `index`.
fn is_lookup(graph: &Graph, opset: i64, node: NodeId, index: u32) -> bool {
    let node = &graph.nodes[node];
    node.is(op::Gather)
        && index == 0
        && matches!(node.at(opset).int("axis"), Some(0 | -2))
        && node.inputs.first() != node.inputs.get(1)
}

/// Whether a permutation of two axes swaps them, which is also the default.
fn swaps(perm: Option<&Attr>) -> bool {
    match perm {
        Some(Attr::Ints(perm)) => perm.as_slice() == [1, 0],
        _ => perm.is_none(),
    }
}
