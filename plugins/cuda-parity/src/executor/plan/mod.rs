//! Analysis of a graph before it runs: the lifetimes of values, fusions, nodes on the host, and where values lie.

mod fusion;
mod host;
mod memory;

use onnxport_ir::ir::{Graph, NodeId, ValueId};
use onnxport_ir::ops::deaths;
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) use host::{SMALL, is_small_arithmetic};
pub(crate) use memory::{Claim, Layout, MOST};

/// The plan of a graph.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The values that nobody needs after a node.
    pub(crate) deaths: FxHashMap<NodeId, Vec<ValueId>>,
    /// The values that exist only inside of a chain.
    pub(crate) fused: FxHashSet<ValueId>,
}

impl Plan {
    /// The plan of `graph`, where `functions` are not operators, and `seen` values are shown to somebody.
    pub(crate) fn new(graph: &Graph, functions: &FxHashSet<&str>, seen: &FxHashSet<ValueId>) -> Self {
        Self { deaths: deaths(graph), fused: fusion::fused(graph, functions, seen) }
    }
}
