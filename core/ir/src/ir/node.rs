//! Nodes: applications of operators.

use smallvec::SmallVec;

use super::{Attr, Attribute, BlockId, ValueId};
use crate::arena::Id;
use crate::diagnose::OriginId;
use crate::name::Name;

/// The id of a node in its graph.
pub type NodeId = Id<Node>;

/// An application of an operator.
#[derive(Clone, Debug)]
pub struct Node {
    /// The domain; empty for ONNX's own operators.
    pub domain: Name,
    /// The operator.
    pub op: Name,
    /// Which of several local functions of this name it calls; empty for the one without a mark.
    pub overload: Name,
    /// The inputs; `None` where an optional one is absent. [`Graph::set_input`](super::Graph::set_input)
    /// changes one.
    pub inputs: SmallVec<[Option<ValueId>; 4]>,
    /// The outputs; `None` where an optional one is absent.
    pub outputs: SmallVec<[Option<ValueId>; 4]>,
    /// The attributes, sorted by name.
    pub attributes: Vec<Attribute>,
    /// Where it comes from.
    pub origin: Option<OriginId>,
    /// The block that holds it; `None` once it was removed.
    pub block: Option<BlockId>,
    /// Where the value of each input lists this use.
    pub(super) places: SmallVec<[u32; 4]>,
    pub(super) previous: Option<NodeId>,
    pub(super) next: Option<NodeId>,
    /// Larger than those of the nodes before it in its block.
    pub(super) key: u64,
}

impl Node {
    /// The attribute called `name`.
    pub fn attr(&self, name: &str) -> Option<&Attr> {
        self.attributes.iter().find(|a| a.name == name).map(|a| &a.value)
    }

    /// The integer attribute called `name`.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.attr(name) {
            Some(Attr::Int(n)) => Some(*n),
            _ => None,
        }
    }

    /// The integers of the attribute called `name`.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.attr(name) {
            Some(Attr::Ints(n)) => Some(n),
            _ => None,
        }
    }

    /// The blocks among the attributes.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> {
        self.attributes.iter().flat_map(|a| a.value.blocks().iter().copied())
    }

    /// Whether this is ONNX's own operator `op`.
    pub fn is(&self, op: &str) -> bool {
        self.domain.is_empty() && self.op == op
    }
}
