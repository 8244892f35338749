//! Which node of a model is which of another.

use rustc_hash::{FxHashMap, FxHashSet};
use schemars::JsonSchema;
use serde::Serialize;

use super::place::metadata;
use super::structure::Structure;
use crate::ir::{Def, Graph, Model, NodeId, ValueId};
use crate::onnx::NODE_KEY;

/// How a pair of nodes was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// They have the same name.
    Name,
    /// They come from the same node of the program.
    Origin,
    /// They read the same, or the same nodes read them.
    Structure,
}

/// Pairs of nodes and of values of the main graphs of two models.
#[derive(Clone, Debug, Default)]
pub struct Alignment {
    nodes: FxHashMap<NodeId, (NodeId, How)>,
    values: FxHashMap<ValueId, ValueId>,
    taken: FxHashSet<NodeId>,
}

impl Alignment {
    /// Pairs the nodes of `a` with those of `b`. The time is linear in the size of both.
    pub fn between(a: &Model, b: &Model) -> Self {
        let mut found = Self::default();
        found.inputs(&a.graph, &b.graph);
        found.names(a, b, true);
        found.origins(a, b);
        Structure::new(a, b).pair(&mut found);
        // An unpaired node may have become another operator.
        found.names(a, b, false);
        found
    }

    /// Returns the node of `b` that is paired with a node of `a`.
    pub fn node(&self, a: NodeId) -> Option<NodeId> {
        self.nodes.get(&a).map(|(b, _)| *b)
    }

    /// Returns the way in which a node of `a` was paired.
    pub fn how(&self, a: NodeId) -> Option<How> {
        self.nodes.get(&a).map(|(_, how)| *how)
    }

    /// Returns the value of `b` that is paired with a value of `a`.
    pub fn value(&self, a: ValueId) -> Option<ValueId> {
        self.values.get(&a).copied()
    }

    /// Whether a node of `b` is one of `a`.
    pub fn has(&self, b: NodeId) -> bool {
        self.taken.contains(&b)
    }

    /// Pairs two nodes and their results, unless one of them has a partner.
    pub(super) fn pair(&mut self, a: (&Graph, NodeId), b: (&Graph, NodeId), how: How) -> bool {
        if self.nodes.contains_key(&a.1) || self.taken.contains(&b.1) {
            return false;
        }
        self.nodes.insert(a.1, (b.1, how));
        self.taken.insert(b.1);
        let (ours, theirs) = (&a.0.nodes[a.1].outputs, &b.0.nodes[b.1].outputs);
        for (ours, theirs) in ours.iter().zip(theirs) {
            if let (Some(ours), Some(theirs)) = (ours, theirs) {
                self.values.insert(*ours, *theirs);
            }
        }
        true
    }

    /// Pairs inputs by name, or by position if no name matches. Pairs initializers by name.
    fn inputs(&mut self, a: &Graph, b: &Graph) {
        let (ours, theirs) = (&a.blocks[a.main()].inputs, &b.blocks[b.main()].inputs);
        let by_name = |graph: &Graph, values: &[ValueId]| -> FxHashMap<String, ValueId> {
            let named = |id: &ValueId| Some((graph.values[*id].name.as_deref()?.to_owned(), *id));
            values.iter().filter_map(named).collect()
        };
        let known = by_name(b, theirs);
        let same: Vec<(ValueId, ValueId)> =
            ours.iter().filter_map(|id| Some((*id, *known.get(a.values[*id].name.as_deref()?)?))).collect();
        let pairs =
            if same.is_empty() { ours.iter().copied().zip(theirs.iter().copied()).collect() } else { same };
        self.values.extend(pairs);
        let weights = |graph: &Graph| graph.initializers.iter().map(|i| i.value).collect::<Vec<_>>();
        let known = by_name(b, &weights(b));
        for id in weights(a) {
            if let Some(other) = a.values[id].name.as_deref().and_then(|name| known.get(name)) {
                self.values.insert(id, *other);
            }
        }
    }

    /// Nodes whose results have the same names, which are of the same origin, and with `same` of the same operator.
    fn names(&mut self, a: &Model, b: &Model, same: bool) {
        let mut known: FxHashMap<&str, NodeId> = FxHashMap::default();
        for node in b.graph.order(b.graph.main()) {
            for value in b.graph.nodes[node].outputs.iter().flatten() {
                known.extend(b.graph.values[*value].name.as_deref().map(|name| (name, node)));
            }
        }
        for node in a.graph.order(a.graph.main()) {
            let data = &a.graph.nodes[node];
            let mut names = data.outputs.iter().flatten().filter_map(|v| a.graph.values[*v].name.as_deref());
            let Some(other) = names.find_map(|name| known.get(name)) else { continue };
            let theirs = &b.graph.nodes[*other];
            let same_operator = (&data.domain, &data.op) == (&theirs.domain, &theirs.op);
            if (same_operator || !same) && exported(a, node) == exported(b, *other) {
                self.pair((&a.graph, node), (&b.graph, *other), How::Name);
            }
        }
    }

    /// Pairs nodes of one operator with the same origin in the program, in order, if both models have the same number
    /// of them.
    fn origins(&mut self, a: &Model, b: &Model) {
        let key = |model: &'_ Model, node: NodeId| -> (String, String, String) {
            let data = &model.graph.nodes[node];
            (exported(model, node).to_owned(), data.domain.to_string(), data.op.to_string())
        };
        let mut found: FxHashMap<(String, String, String), [Vec<NodeId>; 2]> = FxHashMap::default();
        for (side, model) in [a, b].into_iter().enumerate() {
            for node in model.graph.order(model.graph.main()) {
                let is_paired = if side == 0 { self.nodes.contains_key(&node) } else { self.has(node) };
                if !is_paired
                    && !exported(model, node).is_empty()
                    && let Some(nodes) = found.entry(key(model, node)).or_default().get_mut(side)
                {
                    nodes.push(node);
                }
            }
        }
        // If one side has fewer, the order does not tell which one is missing.
        for [ours, theirs] in found.into_values().filter(|[ours, theirs]| ours.len() == theirs.len()) {
            for (node, other) in ours.into_iter().zip(theirs) {
                self.pair((&a.graph, node), (&b.graph, other), How::Origin);
            }
        }
    }
}

/// Returns the node of the exported program that a node comes from, as the model states it; empty if it states none.
fn exported(model: &Model, node: NodeId) -> &str {
    metadata(model, node, NODE_KEY)
}

/// Returns the node that computes a value, if there is one.
pub(super) fn maker(graph: &Graph, value: ValueId) -> Option<NodeId> {
    match graph.values[value].def {
        Def::Node(node, _) => Some(node),
        _ => None,
    }
}
