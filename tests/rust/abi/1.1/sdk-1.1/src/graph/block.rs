//! Blocks.

use std::fmt;

use onnxport_abi::abi_stable::std_types::RSlice;

use super::{GraphView, NodeRef, ValueRef};
use crate::abi::graph::{BlockView, NOTHING};

/// A block: the main graph, or the body of a control-flow node.
#[derive(Clone, Copy)]
pub struct BlockRef<'h> {
    pub(super) graph: GraphView<'h>,
    pub(super) id: u64,
}

impl<'h> BlockRef<'h> {
    /// The id as it crosses.
    pub fn id(self) -> u64 {
        self.id
    }

    /// The block around this one; `None` for the main block.
    pub fn parent(self) -> Option<Self> {
        let id = self.view().parent;
        (id != NOTHING).then_some(Self { graph: self.graph, id })
    }

    /// The inputs, in order.
    pub fn inputs(self) -> Vec<ValueRef<'h>> {
        self.view().inputs.iter().map(|id| self.graph.value(*id)).collect()
    }

    /// The outputs, in order; a value may stand more than once.
    pub fn outputs(self) -> Vec<ValueRef<'h>> {
        self.view().outputs.iter().map(|id| self.graph.value(*id)).collect()
    }

    /// The nodes, in order; those of nested blocks are not among them.
    pub fn nodes(self) -> Vec<NodeRef<'h>> {
        self.view().nodes.iter().map(|id| self.graph.node(*id)).collect()
    }

    pub(super) fn collect(self, found: &mut Vec<NodeRef<'h>>) {
        for node in self.nodes() {
            for block in node.blocks() {
                block.collect(found);
            }
            found.push(node);
        }
    }

    fn view(self) -> BlockView<'h> {
        let mut view = BlockView {
            parent: NOTHING,
            inputs: RSlice::EMPTY,
            outputs: RSlice::EMPTY,
            nodes: RSlice::EMPTY,
        };
        let answer = (self.graph.host().block)(self.graph.cx(), self.id, &mut view);
        self.graph.expect(answer, "a block");
        view
    }
}

impl PartialEq for BlockRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for BlockRef<'_> {}

impl fmt::Debug for BlockRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockRef({:#x})", self.id)
    }
}
