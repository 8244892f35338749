//! Where products read a weight, and along which of its axes they sum.

use crate::ir::{Attr, Graph, NodeId, ValueId};

/// A product that reads a weight as its second operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    /// The `MatMul` or `Gemm`.
    pub(super) node: NodeId,
    /// The axis of the weight that it sums over.
    pub(super) axis: usize,
}

/// The products that read the weight `value` of two axes, directly or through a `Transpose`, and
/// whether nothing else reads it.
pub(super) fn products(graph: &Graph, value: ValueId) -> (Vec<Product>, bool) {
    let mut found = Vec::new();
    let mut only = !graph.is_returned(value);
    for place in graph.values[value].uses() {
        let node = &graph.nodes[place.node];
        if node.is("Transpose") && swaps(node.attr("perm")) {
            let turned = node.outputs.first().copied().flatten();
            let readers = turned.map(|t| graph.values[t].uses()).unwrap_or_default();
            only &= turned.is_some_and(|t| !graph.is_returned(t));
            for reader in readers {
                match axis(graph, reader.node, reader.index) {
                    Some(axis) => found.push(Product { node: reader.node, axis: 1 - axis }),
                    None => only = false,
                }
            }
        } else if let Some(axis) = axis(graph, place.node, place.index) {
            found.push(Product { node: place.node, axis });
        } else {
            only = false;
        }
    }
    (found, only)
}

/// The axis of its second operand over which a product sums; `None` for other nodes and operands.
fn axis(graph: &Graph, node: NodeId, index: u32) -> Option<usize> {
    let node = &graph.nodes[node];
    if index != 1 || node.inputs.first() == node.inputs.get(1) {
        return None;
    }
    if node.is("MatMul") {
        return Some(0);
    }
    node.is("Gemm").then(|| usize::from(node.int("transB").unwrap_or(0) != 0))
}

/// Whether a permutation of two axes swaps them, which it does when none is stated.
fn swaps(perm: Option<&Attr>) -> bool {
    match perm {
        Some(Attr::Ints(perm)) => perm.as_slice() == [1, 0],
        _ => perm.is_none(),
    }
}
