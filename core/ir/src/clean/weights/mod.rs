//! What nodes make of weights alone is a weight as well.
//!
//! Views and arithmetic become a formula, which is computed when the model is written, piece by piece, however large the
//! weights are. What has no formula is evaluated here if it is small. The values of weights decide nothing: a result is
//! a weight in its turn.

mod formula;
mod reduce;

#[cfg(test)]
mod tests;

use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::{Graph, Model, Node, NodeId, ValueId};
use crate::name::Name;
use crate::ops::{Limits, Local, Tensor, Traits, Value, evaluate, foldable, traits};
use crate::tensor::{DType, LazyTensor};
use crate::tidy;

pub use reduce::summed;

/// The weights of a model may grow by one part in so many: a tied one that is read in two ways would be there twice.
const GROWTH: u64 = 64;

/// By so many bytes they may grow in any case.
const LEAST: u64 = 64 << 10;

/// The bytes of a weight that is read here, and of what is made of it.
const SMALL: u64 = 1 << 20;

/// The steps that evaluating one node may take.
const STEPS: u64 = 1 << 22;

/// Constants of no weights are made by folding, up to so many bytes.
const CONSTANT: u64 = 16 << 10;

/// Constants of at most so many bytes join nothing: axes, and numbers.
const SHARED: u64 = 4 << 10;

/// A value that need not be computed when the model runs.
#[derive(Clone)]
struct Made {
    data: LazyTensor,
    /// Whether it is made of parameters or buffers.
    is_weight: bool,
    /// Whether it is made of a constant that is too large for folding.
    is_large: bool,
}

/// By how many bytes the weights of a model may still grow.
#[derive(Clone, Copy, Debug)]
pub struct Growth(u64);

impl Growth {
    /// What the weights of `model` may grow by in all, however often [`weights`] is called.
    pub fn of(model: &Model) -> Self {
        let all = model.graph.initializers.iter().filter_map(|initializer| initializer.data.byte_len());
        Self((all.fold(0, u64::saturating_add) / GROWTH).max(LEAST))
    }
}

/// Makes weights of what nodes of the main graph make of weights and constants alone; returns how many nodes that were.
/// Results are those of the evaluator, bit for bit; `exact` leaves out floats that others may round in another way: what is
/// no view and no arithmetic of single elements. Weights grow by `room` at most. Weights that are
/// still to be given stay, and so does what is random, quantisation, and what the model returns.
pub fn weights(model: &mut Model, exact: bool, room: &mut Growth) -> usize {
    let (local, opset) = (Local::of(model), model.opset());
    let graph = &mut model.graph;
    let found = find(graph, opset, &local, exact);
    let mut count = 0;
    for group in groups(graph, &found) {
        let Some(rest) = growth(graph, &group, &found).and_then(|bytes| room.0.checked_sub(bytes)) else {
            continue;
        };
        *room = Growth(rest);
        count += group.len();
        for node in group {
            replace(graph, node, &found);
        }
    }
    if count > 0 {
        tidy::tidy(graph);
        tidy::names(graph);
    }
    count
}

/// What nodes make of weights alone, by the values, and the nodes in order.
#[derive(Default)]
struct Found {
    nodes: Vec<NodeId>,
    values: FxHashMap<ValueId, Made>,
}

impl Found {
    /// What is known of a value.
    fn of(&self, graph: &Graph, value: ValueId) -> Option<Made> {
        if let Some(made) = self.values.get(&value) {
            return Some(made.clone());
        }
        let data = graph.initializer(value).filter(|data| data.unbound().is_none())?.clone();
        let (is_weight, is_large) = (graph.is_weight(value), is_large(&data));
        Some(Made { data, is_weight, is_large })
    }
}

fn find(graph: &Graph, opset: i64, local: &Local, exact: bool) -> Found {
    let mut found = Found::default();
    for block in graph.blocks.ids() {
        for id in graph.order(block) {
            let node = &graph.nodes[id];
            if !foldable(graph, node, local) {
                continue;
            }
            let known = |value: &Option<ValueId>| match value {
                Some(value) => found.of(graph, *value).map(Some),
                None => Some(None),
            };
            let Some(inputs) = node.inputs.iter().map(known).collect::<Option<Vec<_>>>() else { continue };
            let given: Vec<Option<LazyTensor>> =
                inputs.iter().map(|made| made.as_ref().map(|made| made.data.clone())).collect();
            let open = |data: &LazyTensor| exact && data.dtype.is_float();
            let rounded = exact && node.op.starts_with("Reduce");
            let made = Some(()).filter(|()| !rounded).and_then(|()| formula::of(graph, node, &given));
            let made =
                made.or_else(|| evaluated(graph, opset, id, &given).filter(|made| !made.iter().any(open)));
            let Some(made) = made.filter(|made| made.len() == node.outputs.len()) else { continue };
            if !keeps_form(node, &given, &made) {
                continue;
            }
            let is_weight = inputs.iter().flatten().any(|made| made.is_weight);
            let of_large = inputs.iter().flatten().any(|made| made.is_large);
            if !is_weight && !of_large && !made.iter().any(is_large) {
                continue;
            }
            for (output, data) in node.outputs.iter().zip(made) {
                if let Some(output) = output {
                    let is_large = of_large || is_large(&data);
                    found.values.insert(*output, Made { data, is_weight, is_large });
                }
            }
            found.nodes.push(id);
        }
    }
    found
}

/// Whether folding does not read or make a constant, because of its size.
fn is_large(data: &LazyTensor) -> bool {
    data.byte_len().is_some_and(|bytes| bytes > CONSTANT)
}

/// Whether codes stay codes, as they lie, and narrow floats narrow: runtimes compute with them, and files hold them.
fn keeps_form(node: &Node, given: &[Option<LazyTensor>], made: &[LazyTensor]) -> bool {
    let has_codes = given.iter().flatten().any(|data| data.dtype.bits() <= 8 && data.dtype != DType::Bool);
    let widest = given.iter().flatten().map(|data| data.dtype.bits()).max().unwrap_or(0);
    let unpacks = traits(node).has(Traits::BITWISE);
    let mut floats = made.iter().filter(|data| data.dtype.is_float());
    if has_codes {
        return !unpacks && floats.next().is_none();
    }
    !node.is("Cast") || floats.all(|data| data.dtype.bits() <= widest)
}

/// The nodes in groups that share weights, or make what others of the group read, in order.
fn groups(graph: &Graph, found: &Found) -> Vec<Vec<NodeId>> {
    let mut parent: Vec<usize> = (0..found.nodes.len()).collect();
    let mut first: FxHashMap<ValueId, usize> = FxHashMap::default();
    for (at, node) in found.nodes.iter().enumerate() {
        let node = &graph.nodes[*node];
        let shared = |value: &&ValueId| {
            let data = graph.initializer(**value);
            data.is_none_or(|data| data.byte_len().is_some_and(|bytes| bytes > SHARED))
        };
        for value in node.inputs.iter().flatten().filter(shared).chain(node.outputs.iter().flatten()) {
            let other = *first.entry(*value).or_insert(at);
            let (a, b) = (root(&mut parent, at), root(&mut parent, other));
            if let Some(place) = parent.get_mut(a.max(b)) {
                *place = a.min(b);
            }
        }
    }
    let mut groups: Vec<Vec<NodeId>> = vec![Vec::new(); found.nodes.len()];
    for (at, node) in found.nodes.iter().enumerate() {
        let own = root(&mut parent, at);
        if let Some(group) = groups.get_mut(own) {
            group.push(*node);
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// The first of a group; the way there becomes shorter.
fn root(parent: &mut [usize], mut at: usize) -> usize {
    while let Some(up) = parent.get(at).copied().filter(|up| *up != at) {
        let next = parent.get(up).copied().unwrap_or(up);
        if let Some(place) = parent.get_mut(at) {
            *place = next;
        }
        at = next;
    }
    at
}

/// By how many bytes the model grows when the nodes of a group go: what others read of it is stored, and what nothing else
/// reads goes.
fn growth(graph: &Graph, group: &[NodeId], found: &Found) -> Option<u64> {
    let inside: FxHashSet<NodeId> = group.iter().copied().collect();
    let is_needed = |value: ValueId| {
        graph.is_returned(value)
            || graph.values[value].uses().iter().any(|place| !inside.contains(&place.node))
    };
    let (mut more, mut less) = (0u64, 0u64);
    let mut seen: FxHashSet<ValueId> = FxHashSet::default();
    for node in group {
        let node = &graph.nodes[*node];
        for output in node.outputs.iter().flatten().filter(|output| is_needed(**output)) {
            more = more.checked_add(found.values.get(output)?.data.byte_len()?)?;
        }
        for input in node.inputs.iter().flatten() {
            if let Some(data) = graph.initializer(*input)
                && seen.insert(*input)
                && !is_needed(*input)
            {
                less = less.saturating_add(data.byte_len()?);
            }
        }
    }
    Some(more.saturating_sub(less))
}

/// Puts weights in the place of what a node makes.
fn replace(graph: &mut Graph, id: NodeId, found: &Found) {
    let name = name(graph, id);
    let outputs: Vec<ValueId> = graph.nodes[id].outputs.iter().flatten().copied().collect();
    for output in outputs {
        if !graph.is_read(output) {
            continue;
        }
        let Some(Made { data, is_weight, .. }) = found.values.get(&output).cloned() else { continue };
        let constant =
            if is_weight { graph.add_weight(name.clone(), data) } else { graph.add_initializer(None, data) };
        graph.replace_uses(output, constant);
    }
    graph.remove(id);
}

/// What a node makes of weights goes by the name of the first of them.
fn name(graph: &Graph, id: NodeId) -> Option<Name> {
    let node = &graph.nodes[id];
    let mut weights = node.inputs.iter().flatten().filter(|value| graph.is_weight(**value));
    let (value, name) = weights.find_map(|value| Some((*value, graph.values[*value].name.as_deref()?)))?;
    let is_matrix = graph.initializer(value).is_some_and(|data| data.shape.len() == 2);
    Some(if is_matrix && node.is("Transpose") { tidy::turned(name) } else { tidy::folded(name) })
}

/// What a small node computes.
fn evaluated(
    graph: &Graph,
    opset: i64,
    id: NodeId,
    inputs: &[Option<LazyTensor>],
) -> Option<Vec<LazyTensor>> {
    let small = |data: &LazyTensor| data.byte_len().is_some_and(|bytes| bytes <= SMALL);
    if !inputs.iter().flatten().all(small) {
        return None;
    }
    let read = |data: &LazyTensor| Tensor::read(data).ok().map(Value::Tensor);
    let given: Option<Vec<Option<Value>>> =
        inputs.iter().map(|data| data.as_ref().map_or(Some(None), |data| read(data).map(Some))).collect();
    let limits = Limits { bytes: SMALL.saturating_mul(64), steps: STEPS, time: Duration::MAX };
    let made = evaluate(&graph.nodes[id], opset, given?, limits).ok()?;
    let lazy = |value: &Value| value.tensor()?.to_lazy().ok().filter(|data| small(data));
    made.iter().take(graph.nodes[id].outputs.len()).map(lazy).collect()
}
