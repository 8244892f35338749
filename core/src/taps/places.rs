//! The taps of a model, and their names on the other side.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Recorded;
use crate::diff::{Alignment, How, NodeSite, metadata};
use crate::ir::{Def, Model, NodeId, Type, ValueId};
use crate::onnx::{NODE_KEY, RESULTS_KEY};
use crate::ops;

/// A value that both sides have.
#[derive(Clone, Debug)]
pub struct Tap {
    /// The value.
    pub value: ValueId,
    /// The node that computes it.
    pub node: NodeId,
    /// Its name in the model.
    pub name: String,
    /// The name on the other side.
    pub counterpart: String,
    /// Whether a difference of type or shape is one between the values; else they are not compared.
    pub is_sure: bool,
}

/// The values of a model's main graph that the other side has as well.
pub struct Taps<'m> {
    /// The model.
    pub model: &'m Model,
    /// The values in topological order.
    pub taps: Vec<Tap>,
    /// The nodes of the main graph in order.
    pub order: Vec<NodeId>,
    positions: FxHashMap<NodeId, usize>,
    by_value: FxHashMap<ValueId, usize>,
    /// The number of named values of the main graph without a counterpart.
    pub without_counterpart: usize,
}

impl<'m> Taps<'m> {
    /// The other side runs the same model.
    pub fn same(model: &'m Model) -> Self {
        Self::new(model, |_, _, name| Some((name.to_owned(), true)))
    }

    /// The other side is a recording of the program that the model was converted from.
    pub fn recorded(model: &'m Model, recorded: &Recorded) -> Self {
        let graph = &model.graph;
        let outputs: FxHashSet<ValueId> = graph.blocks[graph.main()].outputs().iter().copied().collect();
        Self::new(model, |node, value, name| {
            let results = metadata(model, node, RESULTS_KEY);
            let call = if !results.is_empty() {
                let at = graph.nodes[node].outputs.iter().position(|output| *output == Some(value))?;
                results.split(',').nth(at)?
            } else if outputs.contains(&value) && metadata(model, node, NODE_KEY).is_empty() {
                // Its name may be one that the user chose.
                return None;
            } else {
                name
            };
            recorded.has(call).then(|| (call.to_owned(), true))
        })
    }

    /// The other side runs another model.
    pub fn aligned(model: &'m Model, other: &Model, alignment: &Alignment) -> Self {
        Self::new(model, |node, value, _| {
            let counterpart = alignment.value(value)?;
            let is_named = alignment.how(node) == Some(How::Name);
            Some((other.graph.values[counterpart].name.as_deref()?.to_owned(), is_named))
        })
    }

    /// `counterpart` returns the other side's name for a value of a node, and whether it is certain.
    fn new(model: &'m Model, counterpart: impl Fn(NodeId, ValueId, &str) -> Option<(String, bool)>) -> Self {
        let graph = &model.graph;
        let order: Vec<NodeId> = graph.order(graph.main()).collect();
        let positions = order.iter().enumerate().map(|(at, node)| (*node, at)).collect();
        let (mut taps, mut by_value, mut without_counterpart) = (Vec::new(), FxHashMap::default(), 0);
        for node in &order {
            for value in graph.nodes[*node].outputs.iter().flatten().copied() {
                let info = &graph.values[value];
                let Some(name) = info.name.as_deref().filter(|_| may_be_tensor(&info.ty)) else { continue };
                match counterpart(*node, value, name) {
                    Some((counterpart, is_sure)) => {
                        by_value.insert(value, taps.len());
                        let name = name.to_owned();
                        taps.push(Tap { value, node: *node, name, counterpart, is_sure });
                    }
                    None => without_counterpart += 1,
                }
            }
        }
        Self { model, taps, order, positions, by_value, without_counterpart }
    }

    /// The position of the tap on `value`.
    pub fn of(&self, value: ValueId) -> Option<usize> {
        self.by_value.get(&value).copied()
    }

    /// Returns the location of a node of the main graph.
    pub fn place(&self, node: NodeId) -> NodeSite {
        NodeSite::of(self.model, node, self.positions.get(&node).copied().unwrap_or_default())
    }

    /// Whether the values of a node are others in every run.
    pub fn is_random(&self, node: NodeId) -> bool {
        let data = &self.model.graph.nodes[node];
        ops::lookup(&data.domain, &data.op).is_some_and(ops::Op::is_random)
    }

    /// Returns the inputs of a node, including those of its nested graphs: inputs of the main graph, constants and
    /// results of nodes of the main graph.
    pub fn reads(&self, node: NodeId) -> Vec<ValueId> {
        reads(self.model, node)
    }
}

/// Returns the values of the main graph that one of its nodes reads, including its nested graphs; each once.
pub(super) fn reads(model: &Model, node: NodeId) -> Vec<ValueId> {
    let graph = &model.graph;
    let main = graph.main();
    let is_main = |value: &ValueId| match graph.values[*value].def {
        Def::Input(block, _) => block == main,
        Def::Initializer(at) => graph.initializers.get(at as usize).is_some_and(|i| i.block == main),
        Def::Literal(at) => graph.literals.get(at as usize).is_some_and(|l| l.block == main),
        Def::Node(node, _) => graph.nodes[node].block == Some(main),
        Def::Gone => false,
    };
    let (mut pending, mut seen, mut found) = (vec![node], FxHashSet::default(), Vec::new());
    while let Some(node) = pending.pop() {
        let data = &graph.nodes[node];
        let mut values: Vec<ValueId> = data.inputs.iter().flatten().copied().collect();
        for block in data.blocks() {
            pending.extend(graph.order(block));
            values.extend(graph.blocks[block].outputs());
        }
        found.extend(values.into_iter().filter(is_main).filter(|value| seen.insert(*value)));
    }
    found
}

/// Whether a runtime can return it: sequences and the like are not tensors.
fn may_be_tensor(ty: &Type) -> bool {
    matches!(ty, Type::Tensor { .. } | Type::Unknown)
}
