//! Computing what does not depend on the inputs.

use super::budget::{Budget, Limits};
use super::call::{Call, Scope};
use super::error::unsupported;
use super::{Res, Tensor, Value};
use crate::ir::{Attr, BlockId, Def, Graph, Model, Node, NodeId, Type, ValueId};
use crate::tensor::LazyTensor;

/// A node on its own has no blocks to run, and nothing around it.
struct Alone;

impl Scope for Alone {
    fn run(&mut self, _: BlockId, _: Vec<Value>) -> Res<Vec<Value>> {
        unsupported!("a node with a body is not evaluated on its own")
    }

    fn returned(&self, _: BlockId) -> Vec<Type> {
        Vec::new()
    }

    fn outer(&self, _: &str) -> Option<&Attr> {
        None
    }
}

/// Evaluates one node without bodies at `opset`.
///
/// # Errors
/// [`Error`](super::Error) when nobody knows how, or the inputs do not fit.
pub fn evaluate(node: &Node, opset: i64, inputs: Vec<Option<Value>>, limits: Limits) -> Res<Vec<Value>> {
    let Some(evaluate) = super::lookup(&node.domain, &node.op).and_then(|op| op.evaluator()) else {
        return unsupported!("no evaluator is known for {}", node.op);
    };
    let budget = Budget::new(limits);
    evaluate(&mut Call { node, opset, inputs, budget: &budget, scope: &mut Alone })
}

/// The constant behind a value, unless it is a weight or larger than `bytes`.
fn constant(graph: &Graph, value: ValueId, bytes: u64) -> Option<Value> {
    let small = |data: &LazyTensor| data.byte_len().is_some_and(|n| n <= bytes);
    if let Some(data) = graph.initializer(value) {
        let read = !graph.is_weight(value) && small(data);
        return read.then(|| Tensor::read(data).ok().map(Value::Tensor))?;
    }
    let Def::Node(node, 0) = graph.values[value].def else { return None };
    let node = &graph.nodes[node];
    match node.attr("value") {
        Some(Attr::Tensor(data)) if node.is("Constant") && small(data) => {
            Tensor::read(data).ok().map(Value::Tensor)
        }
        _ => None,
    }
}

/// The results of a node as constants, when all its inputs are and each result takes at most `bytes`.
fn folded(model: &Model, node: NodeId, bytes: u64) -> Option<Vec<LazyTensor>> {
    let graph = &model.graph;
    let data = &graph.nodes[node];
    let plain =
        data.attributes.iter().all(|a| !matches!(a.value, Attr::Ref(..)) && a.value.blocks().is_empty());
    let random = super::lookup(&data.domain, &data.op).is_some_and(super::Op::is_random);
    if random || !plain || data.is("Constant") || !data.domain.is_empty() || data.inputs.is_empty() {
        return None;
    }
    if model.functions.iter().any(|f| f.domain == data.domain && f.name == data.op) {
        return None;
    }
    let input = |value: &Option<ValueId>| match value {
        None => Some(None),
        Some(value) => constant(graph, *value, bytes).map(Some),
    };
    let inputs: Vec<Option<Value>> = data.inputs.iter().map(input).collect::<Option<_>>()?;
    // A result of the widest elements takes sixteen times the bytes of one of the narrowest.
    let limits = Limits { bytes: bytes.saturating_mul(16), steps: bytes.saturating_mul(64).max(1 << 16) };
    let outputs = evaluate(data, model.opset(), inputs, limits).ok()?;
    if outputs.len() < data.outputs.len() {
        return None;
    }
    let lazy =
        |value: &Value| value.tensor()?.to_lazy().ok().filter(|t| t.byte_len().is_some_and(|n| n <= bytes));
    outputs.iter().take(data.outputs.len()).map(lazy).collect()
}

/// Replaces nodes whose inputs are constants by what they compute, and returns how many. Weights are left alone, and so
/// is what is random, and what would take more than `bytes` as an input or as a result.
pub fn fold(model: &mut Model, bytes: u64) -> usize {
    let mut count = 0;
    let blocks: Vec<BlockId> = model.graph.blocks.ids().collect();
    for block in blocks {
        let order: Vec<NodeId> = model.graph.order(block).collect();
        for node in order {
            let Some(results) = folded(model, node, bytes) else { continue };
            let outputs = model.graph.nodes[node].outputs.clone();
            for (output, data) in outputs.into_iter().zip(results) {
                let Some(output) = output else { continue };
                let constant = model.graph.add_initializer(None, data);
                model.graph.replace_uses(output, constant);
            }
            model.graph.remove(node);
            count += 1;
        }
    }
    count
}
