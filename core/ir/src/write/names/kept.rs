//! The names of an imported graph are kept, and values added since get unique names.
//!
//! Two sibling graphs may use one name. A name that shadows an outer one gets a number, because a node added inside
//! may refer to the outer value.

use ecow::eco_format;
use onnxport_proto::{GraphProto, TrainingInfoProto};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{GraphNames, Output};
use crate::ir::{BlockId, Def, Graph, ValueId};
use crate::name::Name;

/// Names the values of `graph`, whose main outputs are called `output_names`; nothing new is called as `training`
/// calls anything.
pub(super) fn names(graph: &Graph, output_names: &[String], training: &[TrainingInfoProto]) -> GraphNames {
    let mut constants: FxHashMap<BlockId, Vec<ValueId>> = FxHashMap::default();
    let dense = graph.initializers.iter().map(|i| (i.block, i.value));
    for (block, value) in dense.chain(graph.literals.iter().map(|l| (l.block, l.value))) {
        constants.entry(block).or_default().push(value);
    }
    let given = graph.values.iter().filter_map(|(_, value)| value.name.clone());
    let mut known: FxHashSet<Name> = given.chain(output_names.iter().map(Name::from)).collect();
    for graph in training.iter().flat_map(|info| info.initialization.iter().chain(&info.algorithm)) {
        reserve(graph, &mut known);
    }
    let mut keeper = Keeper {
        graph,
        constants,
        values: vec![Name::new(); graph.values.len()],
        outputs: vec![Vec::new(); graph.blocks.len()],
        known,
        next: FxHashMap::default(),
        visible: FxHashSet::default(),
    };
    // The outputs of the model have the names that it states, whatever the values are called.
    keeper.block(graph.main(), output_names);
    GraphNames { values: keeper.values, outputs: keeper.outputs }
}

/// Adds every name in `graph`. Protobuf's own limit keeps the nesting shallow.
fn reserve(graph: &GraphProto, known: &mut FxHashSet<Name>) {
    let sparse = graph.sparse_initializer.iter().filter_map(|tensor| tensor.values.as_ref());
    known.extend(graph.initializer.iter().chain(sparse).map(|tensor| Name::from(tensor.name())));
    known.extend(graph.input.iter().map(|input| Name::from(input.name())));
    for node in &graph.node {
        known.extend(node.input.iter().chain(&node.output).map(Name::from));
        for inner in node.attribute.iter().flat_map(|a| a.g.iter().chain(&a.graphs)) {
            reserve(inner, known);
        }
    }
}

struct Keeper<'a> {
    graph: &'a Graph,
    constants: FxHashMap<BlockId, Vec<ValueId>>,
    /// By value.
    values: Vec<Name>,
    /// By block.
    outputs: Vec<Vec<Output>>,
    /// Every name that a value has or had.
    known: FxHashSet<Name>,
    /// The number that the next form of a name tries first.
    next: FxHashMap<Name, u32>,
    /// The names in sight.
    visible: FxHashSet<Name>,
}

/// Names that the outputs of a block have.
#[derive(Default)]
struct OutputNames<'a> {
    names: FxHashMap<ValueId, &'a str>,
    owners: FxHashMap<&'a str, Option<ValueId>>,
}

impl Keeper<'_> {
    fn block(&mut self, block: BlockId, output_names: &[String]) {
        let graph = self.graph;
        let mut defined = Vec::new();
        let wanted = self.wanted(block, output_names);
        let inputs = graph.blocks[block].inputs.iter().copied();
        for value in inputs.chain(self.constants.remove(&block).unwrap_or_default()) {
            self.define(value, &wanted, &mut defined);
        }
        for node in graph.order(block) {
            for inner in graph.nodes[node].blocks() {
                self.block(inner, &[]);
            }
            for value in graph.nodes[node].outputs.iter().flatten() {
                self.define(*value, &wanted, &mut defined);
            }
        }
        let outputs = graph.blocks[block].outputs();
        for (index, value) in outputs.iter().copied().enumerate() {
            let own = self.values.get(value.index()).cloned().unwrap_or_default();
            let name = match output_names.get(index) {
                Some(name) => Name::from(name),
                // ONNX Runtime takes no graph that returns a value of a graph around it.
                None if !defined.contains(&own) => self.free(&own, '_'),
                None => own.clone(),
            };
            let copied = name != own;
            if let Some(outputs) = self.outputs.get_mut(block.index()) {
                outputs.push(Output { name, value, copied });
            }
        }
        for name in defined {
            self.visible.remove(&name);
        }
    }

    /// Which value has the name of each output of `block`; `None` where an `Identity` makes it.
    fn wanted<'n>(&self, block: BlockId, names: &'n [String]) -> OutputNames<'n> {
        let mut wanted = OutputNames::default();
        for (name, value) in names.iter().zip(self.graph.blocks[block].outputs()) {
            let info = &self.graph.values[*value];
            let made_here = match info.def {
                Def::Node(node, _) => self.graph.nodes[node].block == Some(block),
                _ => false,
            };
            let takes = info.name.as_deref() == Some(name) || made_here && !wanted.names.contains_key(value);
            let owner = takes.then_some(*value);
            if wanted.owners.insert(name, owner).is_none() && takes {
                wanted.names.insert(*value, name);
            }
        }
        wanted
    }

    fn define(&mut self, value: ValueId, wanted: &OutputNames<'_>, defined: &mut Vec<Name>) {
        let own = self.graph.values[value].name.as_deref();
        let given = wanted.names.get(&value).copied().or(own).filter(|name| !name.is_empty());
        let is_free = |name: &str| {
            let owner = wanted.owners.get(name).copied();
            !self.visible.contains(name) && owner.is_none_or(|owner| owner == Some(value))
        };
        let name = match given {
            Some(name) if is_free(name) => name.into(),
            Some(name) => self.free(name, '_'),
            None => self.free("val", '.'),
        };
        self.visible.insert(name.clone());
        defined.push(name.clone());
        if let Some(place) = self.values.get_mut(value.index()) {
            *place = name;
        }
    }

    /// A numbered form of `name` that no value has.
    fn free(&mut self, name: &str, separator: char) -> Name {
        let mut number = self.next.get(name).copied().unwrap_or(1);
        let found = loop {
            let candidate = eco_format!("{name}{separator}{number}");
            number += 1;
            if self.known.insert(candidate.clone()) {
                break candidate;
            }
        };
        self.next.insert(name.into(), number);
        found
    }
}
