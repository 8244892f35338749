//! Locations of nodes.

use schemars::JsonSchema;
use serde::Serialize;

use crate::ir::{Model, NodeId};
use crate::onnx::{NODE_KEY, torch};

/// Where a node stands: in the graph, in the program, and in the user's code.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct NodeSite {
    /// The node's name in the model; that of its first result where it has none.
    pub node: String,
    /// The operator, with its domain where that is not ONNX's.
    pub operator: String,
    /// The path of the module that it comes from; empty where the model does not say.
    pub module: String,
    /// The node of the exported program, or several joined by `+`; empty where the model does not say.
    pub exported: String,
    /// The line of the user's code, `folder/file.py:12`; empty if the model does not name it.
    pub source: String,
    /// Its position among the nodes of the main graph.
    pub position: usize,
}

impl NodeSite {
    /// Returns the location of the node at `position` in the main graph of `model`.
    pub fn of(model: &Model, node: NodeId, position: usize) -> Self {
        let graph = &model.graph;
        let data = &graph.nodes[node];
        let named = graph.notes.nodes.get(&node).map(|note| note.name.as_str()).filter(|n| !n.is_empty());
        let result = data.outputs.iter().flatten().find_map(|value| graph.values[*value].name.as_deref());
        let operator = if data.domain.is_empty() {
            data.op.to_string()
        } else {
            format!("{}::{}", data.domain, data.op)
        };
        let said = |key: &str| Some(metadata(model, node, key)).filter(|text| !text.is_empty());
        let (module, source) = torch::place(said);
        Self {
            node: named.or(result).unwrap_or_default().to_owned(),
            operator,
            module,
            exported: metadata(model, node, NODE_KEY).to_owned(),
            source,
            position,
        }
    }
}

/// Returns the metadata of a node under `key`; empty if there is none.
pub fn metadata<'m>(model: &'m Model, node: NodeId, key: &str) -> &'m str {
    let entries = model.graph.notes.nodes.get(&node).map(|note| note.about.metadata.as_slice());
    let entry = entries.unwrap_or_default().iter().find(|(known, _)| known == key);
    entry.map_or("", |(_, value)| value.as_str())
}
