//! Blocks: ordered nodes with inputs and outputs.

use super::{NodeId, ValueId};
use crate::arena::Id;

/// The id of a block in its graph.
pub type BlockId = Id<Block>;

/// A sequence of nodes: the main graph, or the body of a control-flow node.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The inputs, in order.
    pub inputs: Vec<ValueId>,
    pub(super) outputs: Vec<ValueId>,
    /// The block around this one; `None` for the main block.
    pub parent: Option<BlockId>,
    /// The node whose body this is.
    pub(super) holder: Option<NodeId>,
    pub(super) first: Option<NodeId>,
    pub(super) last: Option<NodeId>,
}

impl Block {
    /// The outputs, in order; a value may stand more than once. [`Graph::set_outputs`](super::Graph::set_outputs)
    /// and [`Graph::add_output`](super::Graph::add_output) change them.
    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }
}
