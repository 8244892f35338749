//! Checks that training information fits the graph of the model.
//!
//! `TrainingInfoProto` in `onnx.proto` states the rules. Its operators are not checked.

use onnxport_proto::{
    GraphProto, NodeProto, StringStringEntryProto, TensorProto, TrainingInfoProto, ValueInfoProto,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Cx;
use crate::ir::Model;

pub(super) fn check(cx: &mut Cx<'_>) {
    let model = cx.model;
    let infos = model.origin.header().into_iter().flat_map(|header| &header.training);
    let mut updated: FxHashSet<&str> = FxHashSet::default();
    let mut main = None;
    for info in infos {
        let main = main.get_or_insert_with(|| Main::from_model(model));
        for why in problems(info, main, &mut updated) {
            cx.report(format!("its training information {why}"));
        }
    }
}

/// The names of the main graph.
struct Main<'a> {
    /// The names of all values outside of nested graphs.
    values: FxHashSet<&'a str>,
    /// The initializers, which a training step may change.
    initializers: FxHashSet<&'a str>,
    outputs: FxHashSet<&'a str>,
}

impl<'a> Main<'a> {
    fn from_model(model: &'a Model) -> Self {
        let graph = &model.graph;
        let name = |value| graph.values.find(value).and_then(|v| v.name.as_deref());
        let block = graph.main();
        let dense = graph.initializers.iter().filter(|i| i.block == block).map(|i| i.value);
        let literals = graph.literals.iter().filter(|l| l.block == block).map(|l| l.value);
        let defaults = graph.defaults.iter().map(|default| default.value);
        let initializers: FxHashSet<&str> = dense.chain(literals).chain(defaults).filter_map(name).collect();
        let inputs = graph.blocks[block].inputs.iter().copied();
        let made = graph.order(block).flat_map(|node| graph.nodes[node].outputs.iter().flatten().copied());
        let outputs: FxHashSet<&str> = model.output_names.iter().map(String::as_str).collect();
        let values = inputs.chain(made).filter_map(name);
        Self {
            values: values.chain(initializers.iter().copied()).chain(outputs.iter().copied()).collect(),
            initializers,
            outputs,
        }
    }
}

fn problems<'a>(
    info: &'a TrainingInfoProto,
    main: &Main<'_>,
    updated: &mut FxHashSet<&'a str>,
) -> Vec<String> {
    let mut found = Vec::new();
    let algorithm = info.algorithm.as_ref();
    let own: FxHashSet<&str> = algorithm.into_iter().flat_map(initializers).collect();
    let bindings = [
        ("initialization", &info.initialization, &info.initialization_binding),
        ("algorithm", &info.algorithm, &info.update_binding),
    ];
    for (what, graph, binding) in bindings {
        let made: FxHashSet<&str> =
            graph.iter().flat_map(|graph| graph.output.iter().map(ValueInfoProto::name)).collect();
        for entry in binding {
            let (key, value) = (entry.key(), StringStringEntryProto::value(entry));
            if !main.initializers.contains(key) && !own.contains(key) {
                found.push(format!("assigns a value to the initializer `{key}`, which does not exist"));
            }
            let is_main = what == "algorithm" && main.outputs.contains(value);
            if !made.contains(value) && !is_main {
                found.push(format!("binds `{key}` to `{value}`, which is not an output"));
            }
        }
        if let Some(graph) = graph {
            let mut scope = Scope { main, visible: FxHashMap::default() };
            if let Some(name) = scope.undefined(graph) {
                found.push(format!("uses `{name}`, which is not defined before"));
            }
        }
    }
    for entry in &info.update_binding {
        if !updated.insert(entry.key()) {
            found.push(format!("updates `{}` twice", entry.key()));
        }
    }
    found
}

fn initializers(graph: &GraphProto) -> impl Iterator<Item = &str> {
    let sparse = graph.sparse_initializer.iter().filter_map(|tensor| tensor.values.as_ref());
    graph.initializer.iter().chain(sparse).map(TensorProto::name)
}

/// The names in sight.
struct Scope<'a> {
    main: &'a Main<'a>,
    /// Those of the graph and of the graphs around it, with how many of these define each.
    visible: FxHashMap<&'a str, usize>,
}

impl<'a> Scope<'a> {
    /// The first name that something in `graph` uses and nothing before it defines. Protobuf's own limit keeps the
    /// nesting shallow.
    fn undefined(&mut self, graph: &'a GraphProto) -> Option<&'a str> {
        let mut defined = Vec::new();
        for name in graph.input.iter().map(ValueInfoProto::name).chain(initializers(graph)) {
            self.define(name, &mut defined);
        }
        let lacking = graph.node.iter().find_map(|node| {
            let lacking = self.needs(node);
            for name in &node.output {
                self.define(name, &mut defined);
            }
            lacking
        });
        let outputs = graph.output.iter().map(ValueInfoProto::name);
        let lacking = lacking.or_else(|| outputs.into_iter().find(|name| !self.knows(name)));
        for name in defined {
            if let Some(count) = self.visible.get_mut(name) {
                *count -= 1;
            }
        }
        lacking
    }

    fn needs(&mut self, node: &'a NodeProto) -> Option<&'a str> {
        let lacking = node.input.iter().map(String::as_str).find(|name| !self.knows(name));
        let graphs = node.attribute.iter().flat_map(|a| a.g.iter().chain(&a.graphs));
        lacking.or_else(|| graphs.into_iter().find_map(|graph| self.undefined(graph)))
    }

    fn knows(&self, name: &str) -> bool {
        name.is_empty() || self.main.values.contains(name) || self.visible.get(name).is_some_and(|n| *n > 0)
    }

    fn define(&mut self, name: &'a str, defined: &mut Vec<&'a str>) {
        *self.visible.entry(name).or_default() += 1;
        defined.push(name);
    }
}
