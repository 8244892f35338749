//! Unique names for values.
//!
//! Inputs, initializers and values that have a name keep it; outputs get the names that the model states.
//! The name of an exported call, `conv2d_3`, belongs to the value that is the result of the call, which the
//! conversion records as the value's own name. No other value is ever called that: intermediate values of the
//! call are `conv2d_3.1`, `conv2d_3.2` and so on, values without an origin `val`, `val.1`. A name that is taken gets a
//! number that makes it a name of no other value or call: `x_1`.

mod kept;

use ecow::eco_format;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnose::Origins;
use crate::ir::{BlockId, Def, Graph, Model, NodeId, ValueId};
use crate::name::Name;

/// An output of a block.
#[derive(Clone, Debug)]
pub(super) struct Output {
    /// The name.
    pub(super) name: Name,
    /// The value that it returns.
    pub(super) value: ValueId,
    /// Whether an `Identity` gives the value its name: it has another one.
    pub(super) copied: bool,
}

/// The names of a graph.
#[derive(Debug)]
pub(super) struct GraphNames {
    /// By value.
    values: Vec<Name>,
    /// By block.
    outputs: Vec<Vec<Output>>,
}

impl GraphNames {
    /// The name of a value.
    pub(super) fn value(&self, value: ValueId) -> &str {
        self.values.get(value.index()).map_or("", Name::as_str)
    }

    /// The outputs of a block.
    pub(super) fn outputs(&self, block: BlockId) -> &[Output] {
        self.outputs.get(block.index()).map_or(&[], Vec::as_slice)
    }
}

/// The names of a model.
#[derive(Debug)]
pub(super) struct Names {
    /// Of the main graph.
    pub(super) graph: GraphNames,
    /// Of each function's graph.
    pub(super) functions: Vec<GraphNames>,
}

impl Names {
    /// Names everything in `model`.
    pub(super) fn for_model(model: &Model) -> Self {
        let read = model.origin.is_imported();
        let names = |graph: &Graph, outputs: &[String]| {
            if read { kept::names(graph, outputs, &[]) } else { name(graph, outputs, &model.origins) }
        };
        let graph = match model.origin.header() {
            Some(header) => kept::names(&model.graph, &model.output_names, &header.training),
            None => names(&model.graph, &model.output_names),
        };
        Self { graph, functions: model.functions.iter().map(|f| names(&f.graph, &[])).collect() }
    }
}

/// Names the values of `graph`, whose main outputs are to be called `output_names`.
fn name(graph: &Graph, output_names: &[String], origins: &Origins) -> GraphNames {
    let named = graph.values.iter().filter_map(|(_, value)| value.name.clone());
    let calls = origins.iter().flat_map(|origin| origin.node.split('+')).map(Name::from);
    let mut namer = Namer {
        graph,
        values: vec![Name::new(); graph.values.len()],
        taken: FxHashSet::default(),
        reserved: named.chain(calls).chain(output_names.iter().map(Name::from)).collect(),
        next: FxHashMap::default(),
    };
    let order = nodes(graph);
    let main = graph.main();
    for (index, input) in graph.blocks[main].inputs.iter().enumerate() {
        let given = graph.values[*input].name.clone().filter(|n| !n.is_empty());
        namer.give_or(*input, given.as_deref(), &eco_format!("input_{index}"));
    }
    let mut of_main = namer.outputs(main, output_names);
    for initializer in &graph.initializers {
        let given = graph.values[initializer.value].name.as_deref().filter(|n| !n.is_empty());
        namer.give_or(initializer.value, given, "constant");
    }
    namer.given(&order);
    namer.by_origin(&order, origins);
    let of_block =
        |block| if block == main { std::mem::take(&mut of_main) } else { namer.outputs(block, &[]) };
    let outputs = graph.blocks.ids().map(of_block).collect();
    GraphNames { values: namer.values, outputs }
}

/// Every node in order, those of nested blocks before the node that holds them.
fn nodes(graph: &Graph) -> Vec<NodeId> {
    let mut out = Vec::with_capacity(graph.nodes.len());
    let mut stack = vec![graph.order(graph.main()).collect::<Vec<_>>().into_iter()];
    let mut entered = FxHashSet::default();
    while let Some(top) = stack.last_mut() {
        let Some(node) = top.as_slice().first().copied() else {
            stack.pop();
            continue;
        };
        let inner: Vec<NodeId> = graph.nodes[node].blocks().flat_map(|b| graph.order(b)).collect();
        if !inner.is_empty() && entered.insert(node) {
            stack.push(inner.into_iter());
            continue;
        }
        top.next();
        out.push(node);
    }
    out
}

struct Namer<'a> {
    graph: &'a Graph,
    values: Vec<Name>,
    taken: FxHashSet<Name>,
    /// Names that belong to a value, a call or an output of the model; others do not get them.
    reserved: FxHashSet<Name>,
    /// The number that the next value of a taken name tries first.
    next: FxHashMap<Name, u32>,
}

impl Namer<'_> {
    /// Calls `value` by its own name, or by a numbered form of it.
    fn give(&mut self, value: ValueId, name: &str) {
        let name = self.own_or_numbered(name, '_');
        self.set(value, name);
    }

    /// Gives `value` its own name if it has one, else a unique form of `base`.
    fn give_or(&mut self, value: ValueId, own: Option<&str>, base: &str) {
        match own {
            Some(own) => self.give(value, own),
            None => {
                let name = self.unused(base, '_');
                self.set(value, name);
            }
        }
    }

    fn set(&mut self, value: ValueId, name: Name) {
        if let Some(own) = self.values.get_mut(value.index()) {
            *own = name;
        }
    }

    /// The name of `value`, empty where it has none yet.
    fn own(&self, value: ValueId) -> Name {
        self.values.get(value.index()).cloned().unwrap_or_default()
    }

    fn unnamed(&self, value: ValueId) -> bool {
        self.own(value).is_empty()
    }

    /// `name` for its owner, or a numbered form where another value has it.
    fn own_or_numbered(&mut self, name: &str, separator: char) -> Name {
        let own = Name::from(name);
        if self.taken.insert(own.clone()) { own } else { self.numbered(name, separator) }
    }

    /// A form of `base` that belongs to nobody.
    fn unused(&mut self, base: &str, separator: char) -> Name {
        let name = Name::from(base);
        if !self.reserved.contains(&name) && self.taken.insert(name.clone()) {
            return name;
        }
        self.numbered(base, separator)
    }

    fn numbered(&mut self, name: &str, separator: char) -> Name {
        let mut number = self.next.get(name).copied().unwrap_or(1);
        let found = loop {
            let candidate = eco_format!("{name}{separator}{number}");
            number += 1;
            if !self.reserved.contains(&candidate) && self.taken.insert(candidate.clone()) {
                break candidate;
            }
        };
        self.next.insert(name.into(), number);
        found
    }

    /// Names the outputs of `block`: the value itself where it is made there and returned once.
    fn outputs(&mut self, block: BlockId, names: &[String]) -> Vec<Output> {
        let values = self.graph.blocks[block].outputs().to_vec();
        let mut returned = FxHashSet::default();
        let mut out = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            let made_here = match self.graph.values[value].def {
                Def::Node(node, _) => self.graph.nodes[node].block == Some(block),
                _ => false,
            };
            let copied = !made_here || !returned.insert(value);
            let own = self.own(value);
            let name = match names.get(index) {
                Some(name) => self.own_or_numbered(name, '_'),
                None if !copied && !own.is_empty() => own,
                None if own.is_empty() => self.unused(&eco_format!("output_{index}"), '_'),
                None => self.unused(&own, '_'),
            };
            if !copied {
                self.set(value, name.clone());
            }
            out.push(Output { name, value, copied });
        }
        out
    }

    /// Gives the values inside their own names; inputs of nested blocks need some name too.
    fn given(&mut self, order: &[NodeId]) {
        let graph = self.graph;
        for node in order {
            for value in graph.nodes[*node].outputs.iter().flatten() {
                let name = graph.values[*value].name.as_deref().filter(|n| !n.is_empty());
                if let Some(name) = name.filter(|_| self.unnamed(*value)) {
                    self.give(*value, name);
                }
            }
        }
        for block in graph.blocks.ids() {
            for value in &graph.blocks[block].inputs {
                if self.unnamed(*value) {
                    let given = graph.values[*value].name.as_deref().filter(|n| !n.is_empty());
                    self.give_or(*value, given, "arg");
                }
            }
        }
    }

    /// Names remaining values after the exported calls of their nodes: after the first of several.
    fn by_origin(&mut self, order: &[NodeId], origins: &Origins) {
        let graph = self.graph;
        for node in order {
            let origin = graph.nodes[*node].origin.map(|o| origins.get(o).node.as_str());
            let first = origin.and_then(|calls| calls.split('+').next());
            let base = first.filter(|n| !n.is_empty()).unwrap_or("val");
            for value in graph.nodes[*node].outputs.iter().flatten() {
                if self.unnamed(*value) {
                    let name = self.unused(base, '.');
                    self.set(*value, name);
                }
            }
        }
    }
}
