//! The graph that a runtime optimized from a model, as it wrote it: the inputs and outputs of its nodes.

use std::path::Path;

use onnxport_proto::NodeProto;
use rustc_hash::FxHashMap;

use super::events::Node;
use crate::onnx::OnnxFile;

/// A graph of a runtime.
#[derive(Debug, Default)]
pub(super) struct Optimised {
    pub(super) nodes: Vec<NodeProto>,
}

impl Optimised {
    /// Reads the model at `path`; `None` if there is no readable one.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let graph = OnnxFile::declarations(path).ok()?.proto.graph?;
        Some(Self { nodes: graph.node })
    }

    /// Returns the node of the main graph for each of `ran`: by order if both are the same sequence, else by name.
    pub(super) fn places(&self, ran: &[Node]) -> Vec<Option<usize>> {
        let outer = || ran.iter().filter(|node| !node.inner);
        let same = outer().count() == self.nodes.len()
            && outer().zip(&self.nodes).all(|(a, b)| a.operator == b.op_type() && a.name == b.name());
        if same {
            let mut next = 0..self.nodes.len();
            return ran.iter().map(|node| if node.inner { None } else { next.next() }).collect();
        }
        let mut by_name: FxHashMap<&str, Option<usize>> = FxHashMap::default();
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| !node.name().is_empty()) {
            by_name.entry(node.name()).and_modify(|slot| *slot = None).or_insert(Some(at));
        }
        let place = |node: &Node| {
            let found = by_name.get(node.name.as_str()).copied().flatten()?;
            let is_it = self.nodes.get(found).is_some_and(|other| other.op_type() == node.operator);
            (is_it && !node.inner).then_some(found)
        };
        ran.iter().map(place).collect()
    }
}
