//! Splits stacks of matrices, such as those of the experts of a mixture, into separate weights before they are
//! quantised: each product then has its own codes and scales, which runtimes fuse.

use rustc_hash::FxHashMap;

use super::kept::KeptWeights;
use super::readers::Readers;
use super::select::{Choice, weights};
use super::{Form, edit};
use crate::ir::{Graph, Model, Node, NodeId, Use, ValueId};
use crate::op;
use crate::ops::Tensor;
use crate::tensor::LazyTensor;

/// Why a stack stays in the form of `DequantizeLinear`.
const IN_LOOPS: &str = "products in loops read it, which would dequantize it in every iteration; `--quantize-form matmulnbits` supports them";

/// A `Gather` of one matrix.
#[derive(Clone, Copy)]
struct Pick {
    node: NodeId,
    /// Which matrix of the stack it is.
    at: u64,
    /// Whether the stack is transposed before.
    transposed: bool,
}

/// Splits the stacks of `choice` into weights, if only products of single matrices read the stack.
pub(super) fn apply(model: &mut Model, form: Form, choice: &mut Choice<'_>, kept: &mut KeptWeights) {
    let opset = model.opset();
    let graph = &mut model.graph;
    let found: Vec<(String, LazyTensor, Vec<Pick>)> = weights(graph)
        .filter(|(value, name)| choice.has(*value, name))
        .filter_map(|(value, name)| {
            let data = graph.initializer(value)?;
            Some((name.to_owned(), data.clone(), picks(graph, opset, value, data)?))
        })
        .collect();
    for (name, data, picks) in &found {
        let is_repeated = |pick: &Pick| edit::is_repeated(graph, pick.node);
        if form == Form::Dequantize && picks.iter().any(is_repeated) {
            kept.add(name, IN_LOOPS);
            continue;
        }
        let mut made: FxHashMap<(u64, bool), ValueId> = FxHashMap::default();
        for pick in picks {
            let Some(picked) = graph.nodes[pick.node].outputs.first().copied().flatten() else { continue };
            let Some(matrix) = matrix(data, pick) else { continue };
            let weight = *made
                .entry((pick.at, pick.transposed))
                .or_insert_with(|| graph.add_weight(Some(format!("{name}.{}", pick.at).into()), matrix));
            choice.note(weight, vec![name.clone()]);
            graph.replace_uses(picked, weight);
            graph.remove(pick.node);
        }
    }
}

/// Returns the readers of the stack, directly or through a transpose; `None` if any of them is not a product of a
/// single matrix.
fn picks(graph: &Graph, opset: i64, stack: ValueId, data: &LazyTensor) -> Option<Vec<Pick>> {
    if data.shape.len() != 3 || !data.dtype.is_float() || graph.is_returned(stack) {
        return None;
    }
    let mut found = Vec::new();
    for place in graph.values[stack].uses() {
        let node = &graph.nodes[place.node];
        if node.is(op::Transpose) && node.ints("perm") == Some(&[0, 2, 1]) {
            let transposed = node
                .outputs
                .first()
                .copied()
                .flatten()
                .filter(|transposed| !graph.is_returned(*transposed))?;
            for place in graph.values[transposed].uses() {
                found.push(pick(graph, opset, *place, data, true)?);
            }
        } else {
            found.push(pick(graph, opset, *place, data, false)?);
        }
    }
    (!found.is_empty() && found.iter().all(|pick| matrix(data, pick).is_some())).then_some(found)
}

fn pick(graph: &Graph, opset: i64, place: Use, stack: &LazyTensor, transposed: bool) -> Option<Pick> {
    let node = &graph.nodes[place.node];
    let picks_one =
        node.is(op::Gather) && place.index == 0 && matches!(node.at(opset).int("axis"), Some(0 | -3));
    let at = index(graph, node).filter(|_| picks_one)?;
    let count = i64::try_from(*stack.shape.first()?).ok()?;
    let at =
        u64::try_from(if at < 0 { at + count } else { at }).ok().filter(|at| *at < count.unsigned_abs())?;
    let readers = Readers::for_value(graph, opset, node.outputs.first().copied().flatten()?);
    let multiplies = !readers.others && readers.lookups.is_empty() && !readers.products.is_empty();
    multiplies.then_some(Pick { node: place.node, at, transposed })
}

/// The single number by which a `Gather` picks, if it is constant.
fn index(graph: &Graph, node: &Node) -> Option<i64> {
    let index = graph.initializer(node.inputs.get(1).copied().flatten()?)?;
    if !index.shape.is_empty() {
        return None;
    }
    i64::try_from(*Tensor::read(index).ok()?.ints().ok()?.first()?).ok()
}

fn matrix(stack: &LazyTensor, pick: &Pick) -> Option<LazyTensor> {
    let [_, rows, columns] = stack.shape[..] else { return None };
    let matrix = stack.slice(0, pick.at, pick.at + 1, 1)?.reshape(&[rows, columns])?;
    if pick.transposed { matrix.permute(&[1, 0]) } else { Some(matrix) }
}
