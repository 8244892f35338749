//! The nodes of a model, by their names and by the values that they compute.

use onnxport_proto::{GraphProto, NodeProto, StringStringEntryProto};
use rustc_hash::FxHashMap;

use super::ModulesFrom;
use crate::onnx::torch;

/// A node: its name, operator, module and source line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NodeLocation {
    pub(super) name: String,
    pub(super) operator: String,
    pub(super) module: String,
    pub(super) class: String,
    pub(super) line: String,
}

/// The nodes of a model, those in graphs of others and in functions as well.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) all: Vec<NodeLocation>,
    pub(super) modules_from: ModulesFrom,
    /// The nodes that each node reads.
    reads: Vec<Vec<usize>>,
    /// By name; `None` if several nodes have it.
    by_name: FxHashMap<String, Option<usize>>,
    /// The same, by the values that they compute.
    by_value: FxHashMap<String, Option<usize>>,
}

impl Places {
    /// Of the nodes in `graph`, and in `others`, which are bodies of functions.
    pub(super) fn from_graph<'m>(
        graph: &'m GraphProto,
        others: impl IntoIterator<Item = &'m NodeProto>,
    ) -> Self {
        let mut nodes = Vec::new();
        collect(graph.node.iter().chain(others), &mut nodes);
        let said = nodes.iter().any(|node| said(node, torch::NAMESPACE).is_some());
        let named = nodes.iter().any(|node| node.name().trim_start_matches('/').contains('/'));
        let modules_from = match (said, named) {
            (true, _) => ModulesFrom::Metadata,
            (false, true) => ModulesFrom::Names,
            (false, false) => ModulesFrom::Nothing,
        };
        let (by_name, by_value) = (FxHashMap::default(), FxHashMap::default());
        let mut places = Self { all: Vec::new(), modules_from, reads: Vec::new(), by_name, by_value };
        for (at, node) in nodes.iter().enumerate() {
            places.all.push(place(node, modules_from));
            let one = |slot: &mut Option<usize>| *slot = None;
            if !node.name().is_empty() {
                places.by_name.entry(node.name().to_owned()).and_modify(one).or_insert(Some(at));
            }
            for value in node.output.iter().filter(|value| !value.is_empty()) {
                places.by_value.entry(value.clone()).and_modify(one).or_insert(Some(at));
            }
        }
        let reads =
            nodes.iter().map(|node| node.input.iter().filter_map(|value| places.making(value)).collect());
        places.reads = reads.collect();
        places
    }

    /// Returns the nodes that the node at this index reads.
    pub(super) fn read_by(&self, at: usize) -> &[usize] {
        self.reads.get(at).map(Vec::as_slice).unwrap_or_default()
    }

    /// The node of this name.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied().flatten()
    }

    /// Returns the node that computes the value of this name.
    pub(super) fn making(&self, value: &str) -> Option<usize> {
        self.by_value.get(value).copied().flatten()
    }
}

fn said<'n>(node: &'n NodeProto, key: &str) -> Option<&'n str> {
    node.metadata_props.iter().find(|entry| entry.key() == key).map(StringStringEntryProto::value)
}

fn collect<'m>(nodes: impl Iterator<Item = &'m NodeProto>, all: &mut Vec<&'m NodeProto>) {
    for node in nodes {
        all.push(node);
        for graph in node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs)) {
            collect(graph.node.iter(), all);
        }
    }
}

fn place(node: &NodeProto, modules_from: ModulesFrom) -> NodeLocation {
    let (module, line) = torch::place(|key| said(node, key));
    let class = torch::origin(|key| said(node, key)).map(|(origin, _)| origin.class.to_string());
    let module = match modules_from {
        ModulesFrom::Names => module_of_name(node.name()),
        _ => module,
    };
    let result = node.output.iter().find(|value| !value.is_empty());
    let name = Some(node.name()).filter(|name| !name.is_empty()).or(result.map(String::as_str));
    NodeLocation {
        name: name.unwrap_or_default().to_owned(),
        operator: node.op_type().to_owned(),
        module,
        class: class.unwrap_or_default(),
        line,
    }
}

/// Returns the module of a node whose name is a path. A part that repeats the one before it, as in
/// `/layer1/layer1.0/conv1/Conv`, refines the same module.
fn module_of_name(name: &str) -> String {
    let mut parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).collect();
    parts.pop();
    let mut path: Vec<&str> = Vec::new();
    for part in parts {
        let repeats = |last: &&str| {
            part.strip_prefix(*last).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if path.last().is_some_and(repeats) {
            path.pop();
        }
        path.push(part);
    }
    path.join(".")
}

#[cfg(test)]
mod tests {
    use super::module_of_name;

    #[test]
    fn names_that_are_paths_name_modules() {
        let cases = [
            ("/layer1/layer1.0/conv1/Conv", "layer1.0.conv1"),
            ("/features/features.0/Conv_1", "features.0"),
            ("model/dense/MatMul", "model.dense"),
            ("/Add", ""),
            ("Add", ""),
            ("//", ""),
        ];
        for (name, module) in cases {
            assert_eq!(module_of_name(name), module, "{name}");
        }
    }
}
