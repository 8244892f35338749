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
    /// The outputs, in order; a value may stand more than once.
    pub outputs: Vec<ValueId>,
    /// The block around this one; `None` for the main block.
    pub parent: Option<BlockId>,
    pub(super) first: Option<NodeId>,
    pub(super) last: Option<NodeId>,
}
