//! The flow of values between the nodes of a block.

use rustc_hash::FxHashMap;

use crate::ir::{BlockId, Def, Graph, NodeId, ValueId};

/// The nodes of a block in order, and which of them needs which.
pub(super) struct Flow {
    /// The nodes, in the block's order.
    pub(super) nodes: Vec<NodeId>,
    /// The position of a node in [`Flow::nodes`].
    pub(super) index: FxHashMap<NodeId, u32>,
    /// Edges from a node to a user of its outputs, by position; may contain duplicates.
    pub(super) edges: Vec<(u32, u32)>,
}

impl Flow {
    /// Computes the flow of `block`. A node with nested blocks needs the outside values that they use.
    pub(super) fn from_block(graph: &Graph, block: BlockId) -> Self {
        let nodes: Vec<NodeId> = graph.order(block).collect();
        let index: FxHashMap<NodeId, u32> = nodes.iter().enumerate().map(|(i, n)| (*n, i as u32)).collect();
        let mut edges = Vec::new();
        for (to, node) in nodes.iter().enumerate() {
            let mut need = |value: ValueId| {
                if let Def::Node(from, _) = graph.values[value].def
                    && let Some(from) = index.get(&from)
                {
                    edges.push((*from, to as u32));
                }
            };
            graph.nodes[*node].inputs.iter().flatten().for_each(|v| need(*v));
            graph.nodes[*node].blocks().for_each(|inner| each_use(graph, inner, &mut need));
        }
        Self { nodes, index, edges }
    }
}

/// Visits every value that the nodes of `block` or its outputs use, nested blocks included.
fn each_use(graph: &Graph, block: BlockId, visit: &mut impl FnMut(ValueId)) {
    let mut pending = vec![block];
    while let Some(block) = pending.pop() {
        for node in graph.order(block) {
            graph.nodes[node].inputs.iter().flatten().for_each(|v| visit(*v));
            pending.extend(graph.nodes[node].blocks());
        }
        graph.blocks[block].outputs().iter().for_each(|v| visit(*v));
    }
}
