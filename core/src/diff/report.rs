//! The differences between two models.

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::align::{Alignment, How};
use super::place::NodeSite;
use super::structure::same;
use crate::ir::{Attr, BlockId, Graph, Model, NodeId, Type, ValueId};
use crate::table::type_of;
use crate::tensor::LazyTensor;

/// The differences between two models.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct Diff {
    /// The number of equal pairs of nodes.
    pub same: usize,
    /// Pairs of nodes that differ.
    pub changed: Vec<Changed>,
    /// Nodes that only the first model has.
    pub removed: Vec<NodeSite>,
    /// Nodes that only the second one has.
    pub added: Vec<NodeSite>,
    /// Differences in the declarations: inputs, outputs, operator sets, states.
    pub declared: Vec<Change>,
    /// Weights of one name that differ, and those that are in one model only.
    pub weights: Vec<Change>,
}

/// A pair of nodes that differ.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Changed {
    /// The node of the first model.
    pub before: NodeSite,
    /// That of the second one.
    pub after: NodeSite,
    /// The way in which the pair was found.
    pub how: How,
    /// The differences.
    pub changes: Vec<Change>,
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Change {
    /// The part that differs: `attribute axis`, `input 1`, `output 0`, `weight fc.bias`.
    pub what: String,
    /// Its form in the first model; empty if it is absent.
    pub before: String,
    /// Its form in the second model; empty if it is absent.
    pub after: String,
}

impl Diff {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        let Self { same: _, changed, removed, added, declared, weights } = self;
        changed.is_empty()
            && removed.is_empty()
            && added.is_empty()
            && declared.is_empty()
            && weights.is_empty()
    }
}

impl Change {
    fn new(what: String, before: impl Into<String>, after: impl Into<String>) -> Self {
        Self { what, before: before.into(), after: after.into() }
    }
}

/// Returns the differences between two models whose nodes `alignment` pairs.
pub fn diff(a: &Model, b: &Model, alignment: &Alignment) -> Diff {
    let sides = Sides { a, b, alignment };
    let mut diff = Diff { declared: sides.declared(), weights: sides.weights(), ..Diff::default() };
    let mut positions: FxHashMap<NodeId, usize> = FxHashMap::default();
    for (at, node) in b.graph.order(b.graph.main()).enumerate() {
        positions.insert(node, at);
        if !alignment.has(node) {
            diff.added.push(NodeSite::of(b, node, at));
        }
    }
    for (at, node) in a.graph.order(a.graph.main()).enumerate() {
        let Some((other, how)) = alignment.node(node).zip(alignment.how(node)) else {
            diff.removed.push(NodeSite::of(a, node, at));
            continue;
        };
        let changes = sides.node(node, other);
        if changes.is_empty() {
            diff.same += 1;
            continue;
        }
        let after = NodeSite::of(b, other, positions.get(&other).copied().unwrap_or_default());
        diff.changed.push(Changed { before: NodeSite::of(a, node, at), after, how, changes });
    }
    diff
}

struct Sides<'m> {
    a: &'m Model,
    b: &'m Model,
    alignment: &'m Alignment,
}

impl Sides<'_> {
    fn node(&self, node: NodeId, other: NodeId) -> Vec<Change> {
        let (a, b) = (&self.a.graph, &self.b.graph);
        let (ours, theirs) = (&a.nodes[node], &b.nodes[other]);
        let mut changes = Vec::new();
        let operators = [(ours, self.a, node), (theirs, self.b, other)]
            .map(|(_, model, node)| NodeSite::of(model, node, 0).operator);
        let [before, after] = operators;
        if before != after {
            changes.push(Change::new("operator".to_owned(), before, after));
        }
        let names = ours.attributes.iter().chain(&theirs.attributes).map(|attribute| &attribute.name);
        let mut names: Vec<_> = names.collect();
        names.sort();
        names.dedup();
        for name in names {
            let text =
                |graph: &Graph, attr: Option<&Attr>| attr.map(|a| describe(graph, a)).unwrap_or_default();
            let (before, after) = (text(a, ours.attr(name)), text(b, theirs.attr(name)));
            if before != after {
                changes.push(Change::new(format!("attribute {name}"), before, after));
            }
        }
        for at in 0..ours.inputs.len().max(theirs.inputs.len()) {
            let pair = [&ours.inputs, &theirs.inputs].map(|inputs| inputs.get(at).copied().flatten());
            if let [before, after] = pair
                && !self.is_same(before, after)
            {
                let (before, after) = (read(a, before), read(b, after));
                changes.push(Change::new(format!("input {at}"), before, after));
            }
        }
        for (at, pair) in ours.outputs.iter().zip(&theirs.outputs).enumerate() {
            if let (Some(ours), Some(theirs)) = pair {
                let (before, after) =
                    (self.a.type_text(&a.values[*ours].ty), self.b.type_text(&b.values[*theirs].ty));
                if before != after && stated(a, *ours) && stated(b, *theirs) {
                    changes.push(Change::new(format!("output {at}"), before, after));
                }
            }
        }
        changes
    }

    /// Whether two inputs are the same value.
    fn is_same(&self, ours: Option<ValueId>, theirs: Option<ValueId>) -> bool {
        match (ours, theirs) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => {
                match (self.a.graph.initializer(ours), self.b.graph.initializer(theirs)) {
                    (Some(x), Some(y)) => same(x, y),
                    (None, None) => self.alignment.value(ours).is_none_or(|value| value == theirs),
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Inputs, outputs and operator sets.
    fn declared(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        let opsets = |model: &Model| {
            let text = |o: &crate::ir::OpsetImport| {
                let domain = if o.domain.is_empty() { "ai.onnx" } else { &o.domain };
                format!("{domain} {}", o.version)
            };
            model.opsets.iter().map(text).collect::<Vec<_>>().join(", ")
        };
        let ports = |model: &Model, outputs: bool| {
            let graph = &model.graph;
            let block = &graph.blocks[graph.main()];
            let port = |(at, value): (usize, &ValueId)| {
                let name = if outputs { model.output_names.get(at).cloned() } else { None };
                let name = name.or_else(|| graph.values[*value].name.as_deref().map(str::to_owned));
                format!("{}: {}", name.unwrap_or_default(), model.type_text(&graph.values[*value].ty))
            };
            let values = if outputs { block.outputs() } else { &block.inputs };
            values.iter().enumerate().map(port).collect::<Vec<_>>().join(", ")
        };
        let functions = |model: &Model| {
            model.functions.iter().map(|f| format!("{}::{}", f.domain, f.name)).collect::<Vec<_>>().join(", ")
        };
        let pairs = [
            ("opsets", opsets(self.a), opsets(self.b)),
            ("inputs", ports(self.a, false), ports(self.b, false)),
            ("outputs", ports(self.a, true), ports(self.b, true)),
            ("functions", functions(self.a), functions(self.b)),
        ];
        changes.extend(
            pairs
                .into_iter()
                .filter(|(_, a, b)| a != b)
                .map(|(what, a, b)| Change::new(what.to_owned(), a, b)),
        );
        for ours in &self.a.functions {
            let theirs = self.b.functions.iter().find(|f| (&f.domain, &f.name) == (&ours.domain, &ours.name));
            if theirs.is_some_and(|theirs| !ours.same(theirs)) {
                let what = format!("function {}::{}", ours.domain, ours.name);
                let nodes = |model: &crate::ir::Function| format!("{} nodes", model.graph.node_count());
                changes.push(Change::new(what, nodes(ours), theirs.map(nodes).unwrap_or_default()));
            }
        }
        changes
    }

    /// Initializers with names, by name.
    fn weights(&self) -> Vec<Change> {
        let all = |graph: &'_ Graph| -> Vec<(String, LazyTensor)> {
            let named = |i: &crate::ir::Initializer| {
                Some((graph.values[i.value].name.as_deref()?.to_owned(), i.data.clone()))
            };
            graph.initializers.iter().filter_map(named).collect()
        };
        let (ours, theirs) = (all(&self.a.graph), all(&self.b.graph));
        let known: FxHashMap<&str, &LazyTensor> = theirs.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let mut changes = Vec::new();
        for (name, data) in &ours {
            match known.get(name.as_str()) {
                Some(other) if same(data, other) => {}
                other => {
                    let after = other.map(|other| constant(other)).unwrap_or_default();
                    changes.push(Change::new(format!("weight {name}"), constant(data), after));
                }
            }
        }
        let had: rustc_hash::FxHashSet<&str> = ours.iter().map(|(name, _)| name.as_str()).collect();
        for (name, data) in theirs.iter().filter(|(name, _)| !had.contains(name.as_str())) {
            changes.push(Change::new(format!("weight {name}"), "", constant(data)));
        }
        changes
    }
}

/// Whether the type of a value is known.
fn stated(graph: &Graph, value: ValueId) -> bool {
    graph.values[value].ty != Type::Unknown
}

/// An input in a few words.
fn read(graph: &Graph, value: Option<ValueId>) -> String {
    let Some(value) = value else { return String::new() };
    let name = graph.values[value].name.as_deref().unwrap_or("a value without a name");
    match graph.initializer(value) {
        Some(data) => format!("{name} = {}", constant(data)),
        None => name.to_owned(),
    }
}

/// The number of elements to show.
const SHOWN: u64 = 8;

/// A constant in a few words: the elements of a small one, else a part of its hash.
fn constant(data: &LazyTensor) -> String {
    let Some(bytes) = data.read() else { return format!("{}, unbound", type_of(data)) };
    if data.elements().is_some_and(|count| count <= SHOWN) {
        let shape = data.shape.iter().map(|d| *d as usize).collect();
        let packed = crate::ops::Tensor::packed(data.dtype, shape, bytes.to_vec().into());
        if let Ok(elements) = packed.map(|tensor| tensor.elements()) {
            let items = match elements {
                crate::ops::Elements::Int(items) => format!("{items:?}"),
                crate::ops::Elements::Float(items) => format!("{items:?}"),
                crate::ops::Elements::Bool(items) => format!("{items:?}"),
                crate::ops::Elements::Complex(items) => format!("{items:?}"),
                crate::ops::Elements::Text(items) => format!("{items:?}"),
            };
            return format!("{} {items}", type_of(data));
        }
    }
    let hash = Sha256::digest(&bytes);
    let short = hash.iter().take(6).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{} of hash {short:012x}", type_of(data))
}

/// An attribute in a few words.
fn describe(graph: &Graph, attr: &Attr) -> String {
    match attr {
        Attr::Int(n) => n.to_string(),
        Attr::Float(x) => x.to_string(),
        Attr::Str(text) => format!("{text:?}"),
        Attr::Ints(items) => format!("{items:?}"),
        Attr::Floats(items) => format!("{items:?}"),
        Attr::Strs(items) => format!("{items:?}"),
        Attr::Tensor(data) => constant(data),
        Attr::Block(block) => body(graph, *block),
        Attr::Blocks(blocks) => blocks.iter().map(|b| body(graph, *b)).collect::<Vec<_>>().join("; "),
        Attr::Ref(name, _) => format!("@{name}"),
        Attr::Bytes(bytes) => format!("{} bytes", bytes.len()),
        other => format!("{other:?}"),
    }
}

/// A nested graph as its operators and their attributes, in order.
fn body(graph: &Graph, block: BlockId) -> String {
    let node = |node: NodeId| {
        let data = &graph.nodes[node];
        let attributes: Vec<String> =
            data.attributes.iter().map(|a| format!("{}={}", a.name, describe(graph, &a.value))).collect();
        let constants = data.inputs.iter().flatten().filter_map(|v| graph.initializer(*v)).map(constant);
        let parts: Vec<String> = attributes.into_iter().chain(constants).collect();
        if parts.is_empty() { data.op.to_string() } else { format!("{}({})", data.op, parts.join(", ")) }
    };
    format!("{{{}}}", graph.order(block).map(node).collect::<Vec<_>>().join(" "))
}
