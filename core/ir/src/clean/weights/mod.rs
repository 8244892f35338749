//! Folds subgraphs that read only weights into weights.
//!
//! Views and arithmetic become a formula, which is computed piece by piece when the model is written, however large
//! the weights are. Small results without a formula are evaluated here. No decision depends on the values of
//! weights, so a result is itself a weight.

mod formula;
mod reduce;

#[cfg(test)]
mod tests;

use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::{Graph, Model, Node, NodeId, ValueId};
use crate::name::Name;
use crate::op;
use crate::ops::{Limits, Local, Tensor, Traits, Value, evaluate, foldable, traits};
use crate::tensor::{DType, LazyTensor};
use crate::tidy;

pub use reduce::summed;

/// Weights may grow by this fraction of their size: a tied weight that is read in two ways is stored twice.
const GROWTH: u64 = 64;

/// The number of bytes by which weights may always grow.
const LEAST: u64 = 64 << 10;

/// The largest weight, in bytes, that is read and evaluated here, and its largest result.
const SMALL: u64 = 1 << 20;

/// The steps that evaluating one node may take.
const STEPS: u64 = 1 << 22;

/// The size in bytes up to which constants that do not depend on weights are folded elsewhere.
const CONSTANT: u64 = 16 << 10;

/// Constants of at most this many bytes, such as axes and scalars, do not join groups.
const SHARED: u64 = 4 << 10;

/// A value that need not be computed when the model runs.
#[derive(Clone)]
struct Precomputed {
    data: LazyTensor,
    /// Whether it depends on parameters or buffers.
    is_weight: bool,
    /// Whether it depends on a constant that is too large for folding.
    is_large: bool,
}

/// By how many bytes the weights of a model may still grow.
#[derive(Clone, Copy, Debug)]
pub struct Growth(u64);

impl Growth {
    /// Returns the total growth allowed for the weights of `model`, over all calls of [`weights`].
    pub fn from_model(model: &Model) -> Self {
        let all = model.graph.initializers.iter().filter_map(|initializer| initializer.data.byte_len());
        Self((all.fold(0, u64::saturating_add) / GROWTH).max(LEAST))
    }
}

/// Folds nodes of the main graph that read only weights and constants; returns how many nodes were folded. Results
/// are those of the evaluator, bit for bit. `exact` leaves out operations on floats that implementations may round
/// differently, which are all but views and elementwise arithmetic. Weights grow by at most `room`. Unbound
/// weights, random nodes, quantization and outputs of the model stay.
pub fn weights(model: &mut Model, exact: bool, room: &mut Growth) -> usize {
    let (local, opset) = (Local::from_model(model), model.opset());
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

/// The values that depend only on weights and constants, and their nodes in order.
#[derive(Default)]
struct WeightValues {
    nodes: Vec<NodeId>,
    values: FxHashMap<ValueId, Precomputed>,
}

impl WeightValues {
    /// Returns the data of a value, if known.
    fn of(&self, graph: &Graph, value: ValueId) -> Option<Precomputed> {
        if let Some(made) = self.values.get(&value) {
            return Some(made.clone());
        }
        let data = graph.initializer(value).filter(|data| data.unbound().is_none())?.clone();
        let (is_weight, is_large) = (graph.is_weight(value), is_large(&data));
        Some(Precomputed { data, is_weight, is_large })
    }
}

fn find(graph: &Graph, opset: i64, local: &Local, exact: bool) -> WeightValues {
    let mut found = WeightValues::default();
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
            let made = Some(()).filter(|()| !rounded).and_then(|()| formula::of(graph, opset, node, &given));
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
                    found.values.insert(*output, Precomputed { data, is_weight, is_large });
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
    !node.is(op::Cast) || floats.all(|data| data.dtype.bits() <= widest)
}

/// Groups nodes that share weights or read each other's outputs, in order.
fn groups(graph: &Graph, found: &WeightValues) -> Vec<Vec<NodeId>> {
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

/// Returns the number of bytes by which the model grows when a group is folded: outputs that other nodes read are
/// stored, and inputs that only the group reads are removed.
fn growth(graph: &Graph, group: &[NodeId], found: &WeightValues) -> Option<u64> {
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

/// Replaces the outputs of a node by weights.
fn replace(graph: &mut Graph, id: NodeId, found: &WeightValues) {
    let name = name(graph, id);
    let outputs: Vec<ValueId> = graph.nodes[id].outputs.iter().flatten().copied().collect();
    for output in outputs {
        if !graph.is_read(output) {
            continue;
        }
        let Some(Precomputed { data, is_weight, .. }) = found.values.get(&output).cloned() else { continue };
        let constant =
            if is_weight { graph.add_weight(name.clone(), data) } else { graph.add_initializer(None, data) };
        graph.replace_uses(output, constant);
    }
    graph.remove(id);
}

/// Names a result after the first weight that the node reads.
fn name(graph: &Graph, id: NodeId) -> Option<Name> {
    let node = &graph.nodes[id];
    let mut weights = node.inputs.iter().flatten().filter(|value| graph.is_weight(**value));
    let (value, name) = weights.find_map(|value| Some((*value, graph.values[*value].name.as_deref()?)))?;
    let is_matrix = graph.initializer(value).is_some_and(|data| data.shape.len() == 2);
    Some(if is_matrix && node.is(op::Transpose) { tidy::transposed(name) } else { tidy::folded(name) })
}

/// Evaluates a small node.
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
