//! Regions: their inputs, outputs and weights.

use rustc_hash::FxHashSet;

use super::report::Estimate;
use crate::ir::{BlockId, Def, Graph, NodeId, ValueId};

/// Nodes of one block to be compiled together.
#[derive(Clone, Debug)]
pub(super) struct Region {
    /// A unique name within the model.
    pub(super) name: String,
    /// The backend, by position in the user's choice.
    pub(super) backend: usize,
    /// The block.
    pub(super) block: BlockId,
    /// The nodes, in the block's order.
    pub(super) nodes: Vec<NodeId>,
    /// How often a region was split to get this one.
    pub(super) splits: u32,
    /// Its estimated cost, if the backend states one.
    pub(super) estimate: Option<Estimate>,
}

/// The values that a region exchanges with the rest of the model.
#[derive(Clone, Debug, Default)]
pub(super) struct Ports {
    /// Values from outside, in the order of their first use.
    pub(super) inputs: Vec<ValueId>,
    /// Values that are used outside, in the order of the nodes.
    pub(super) outputs: Vec<ValueId>,
    /// Initializers, in the order of their first use.
    pub(super) weights: Vec<ValueId>,
}

impl Region {
    /// Returns the inputs and outputs of the region; `returned` are the values that blocks return.
    pub(super) fn ports(&self, graph: &Graph, returned: &FxHashSet<ValueId>) -> Ports {
        let inside: FxHashSet<NodeId> = self.nodes.iter().copied().collect();
        let mut ports = Ports::default();
        let mut seen = FxHashSet::default();
        for node in &self.nodes {
            for value in graph.nodes[*node].inputs.iter().flatten() {
                match graph.values[*value].def {
                    Def::Node(by, _) if inside.contains(&by) => {}
                    Def::Initializer(_) if seen.insert(*value) => ports.weights.push(*value),
                    Def::Initializer(_) => {}
                    _ if seen.insert(*value) => ports.inputs.push(*value),
                    _ => {}
                }
            }
            for value in graph.nodes[*node].outputs.iter().flatten() {
                let used = graph.values[*value].uses().iter().any(|u| !inside.contains(&u.node));
                if used || returned.contains(value) {
                    ports.outputs.push(*value);
                }
            }
        }
        ports
    }
}

/// Returns the values that blocks return, nested ones included: such uses are in no list.
pub(super) fn returned(graph: &Graph, blocks: &[BlockId]) -> FxHashSet<ValueId> {
    blocks.iter().flat_map(|block| graph.blocks[*block].outputs().iter().copied()).collect()
}
