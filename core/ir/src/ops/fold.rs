//! Constant folding.

use std::time::Duration;

use rustc_hash::FxHashSet;

use super::budget::{Budget, Limits};
use super::call::{Call, Scope};
use super::error::unsupported;
use super::{Res, Tensor, Traits, Value};
use crate::ir::{Attr, BlockId, Def, Graph, Model, Node, NodeId, Type, ValueId};
use crate::name::Name;
use crate::tensor::LazyTensor;

/// A node on its own has no blocks to run, and nothing around it.
struct Alone;

impl Scope for Alone {
    fn run(&mut self, _: BlockId, _: Vec<Value>) -> Res<Vec<Value>> {
        unsupported!("a node with a body is not evaluated separately")
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
    alone(node, opset, inputs, limits, evaluate)
}

/// Shows one node without bodies to `look` as evaluators see it: its attributes, and those of its inputs that are given.
/// This is for whoever computes results elsewhere.
pub fn alone<T>(
    node: &Node,
    opset: i64,
    inputs: Vec<Option<Value>>,
    limits: Limits,
    look: impl FnOnce(&mut Call<'_>) -> T,
) -> T {
    let budget = Budget::new(limits);
    look(&mut Call { node, opset, inputs, budget: &budget, scope: &mut Alone })
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

/// How much constants may take when nodes are computed in advance.
#[derive(Clone, Copy, Debug)]
pub struct Folding {
    /// The most bytes of a single tensor that is read or computed.
    each: u64,
    /// By how many bytes all may still grow.
    left: u64,
}

impl Folding {
    /// All constants may grow by `bytes`, and no one takes more.
    pub fn within(bytes: u64) -> Self {
        Self { each: bytes, left: bytes }
    }

    /// Whether `bytes` more fit; they are taken away then.
    pub fn takes(&mut self, bytes: u64) -> bool {
        let rest = (bytes <= self.each).then(|| self.left.checked_sub(bytes)).flatten();
        self.left = rest.unwrap_or(self.left);
        rest.is_some()
    }
}

/// The functions of a model, which an operator of ONNX may be as well.
#[derive(Clone, Debug, Default)]
pub struct Local(FxHashSet<(Name, Name)>);

impl Local {
    /// Those of `model`, by domain and name.
    pub fn from_model(model: &Model) -> Self {
        Self(model.functions.iter().map(|f| (f.domain.as_str().into(), f.name.as_str().into())).collect())
    }

    fn has(&self, node: &Node) -> bool {
        !self.0.is_empty() && self.0.contains(&(node.domain.clone(), node.op.clone()))
    }
}

/// Whether a node may be folded. Random operators may not; quantizing and dequantizing stay, because runtimes
/// compute with the codes between them.
pub(crate) fn foldable(graph: &Graph, node: &Node, local: &Local) -> bool {
    let plain =
        node.attributes.iter().all(|a| !matches!(a.value, Attr::Ref(..)) && a.value.blocks().is_empty());
    plain
        && !super::traits(node).has_any(Traits::RANDOM.with(Traits::QUANTIZES))
        && node.domain.is_empty()
        && !node.inputs.is_empty()
        && !node.outputs.iter().flatten().any(|v| graph.is_returned(*v))
        && !local.has(node)
}

/// The results of a node as constants, when all its inputs are and each result takes at most `bytes`.
fn folded(graph: &Graph, opset: i64, node: NodeId, local: &Local, bytes: u64) -> Option<Vec<LazyTensor>> {
    let data = &graph.nodes[node];
    if !foldable(graph, data, local) {
        return None;
    }
    let input = |value: &Option<ValueId>| match value {
        None => Some(None),
        Some(value) => constant(graph, *value, bytes).map(Some),
    };
    let inputs: Vec<Option<Value>> = data.inputs.iter().map(input).collect::<Option<_>>()?;
    // A result of the widest elements takes sixteen times the bytes of one of the narrowest.
    let limits = Limits {
        bytes: bytes.saturating_mul(16),
        steps: bytes.saturating_mul(64).max(1 << 16),
        // Whether a node is computed must not depend on the machine.
        time: Duration::MAX,
    };
    let outputs = evaluate(data, opset, inputs, limits).ok()?;
    if outputs.len() < data.outputs.len() {
        return None;
    }
    let lazy =
        |value: &Value| value.tensor()?.to_lazy().ok().filter(|t| t.byte_len().is_some_and(|n| n <= bytes));
    outputs.iter().take(data.outputs.len()).map(lazy).collect()
}

/// The bytes of constants that nothing but `node` reads: they go with it.
fn freed(graph: &Graph, node: NodeId) -> u64 {
    let mut seen: Vec<ValueId> = Vec::new();
    let mut total = 0u64;
    for value in graph.nodes[node].inputs.iter().copied().flatten() {
        let info = &graph.values[value];
        let elsewhere = graph.is_returned(value) || info.uses().iter().any(|place| place.node != node);
        if elsewhere || seen.contains(&value) {
            continue;
        }
        seen.push(value);
        let data = graph.initializer(value).or_else(|| match info.def {
            Def::Node(node, 0) => match graph.nodes[node].attr("value") {
                Some(Attr::Tensor(data)) => Some(data),
                _ => None,
            },
            _ => None,
        });
        total = total.saturating_add(data.and_then(LazyTensor::byte_len).unwrap_or(0));
    }
    total
}

/// Replaces nodes whose inputs are constants by their results, and returns how many. The constants of the model take at
/// most `bytes` more afterwards, and no one that is read or made takes more than that. Weights are left alone, and so are
/// random operators, quantization, and outputs of the model.
pub fn fold(model: &mut Model, bytes: u64) -> usize {
    let local = Local::from_model(model);
    let opset = model.opset();
    fold_graph(&mut model.graph, opset, &local, &mut Folding::within(bytes))
}

/// [`fold`] for one graph, of a model or of a function, with the blocks inside.
pub fn fold_graph(graph: &mut Graph, opset: i64, local: &Local, folding: &mut Folding) -> usize {
    let mut count = 0usize;
    let blocks: Vec<BlockId> = graph.blocks.ids().collect();
    for block in blocks {
        let order: Vec<NodeId> = graph.order(block).collect();
        for node in order {
            let Some(results) = folded(graph, opset, node, local, folding.each) else { continue };
            let outputs = graph.nodes[node].outputs.clone();
            let made: Vec<(ValueId, LazyTensor)> = (outputs.into_iter().zip(results))
                .filter_map(|(output, data)| Some((output.filter(|v| graph.is_read(*v))?, data)))
                .collect();
            let sum = made.iter().try_fold(0u64, |sum, (_, data)| sum.checked_add(data.byte_len()?));
            let rest = sum.and_then(|n| folding.left.saturating_add(freed(graph, node)).checked_sub(n));
            let Some(rest) = rest else { continue };
            folding.left = rest;
            for (output, data) in made {
                let constant = graph.add_initializer(None, data);
                graph.replace_uses(output, constant);
            }
            graph.remove(node);
            count = count.saturating_add(1);
        }
    }
    count
}
