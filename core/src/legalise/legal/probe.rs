//! Asks a runtime about nodes that neither its table nor the model decides.

use rustc_hash::FxHashSet;

use super::judge::ELSEWHERE;
use super::{JudgedNode, Verdict};
use crate::ir::{Def, Graph, Model, NodeId, Type, ValueId};
use crate::tidy;

/// How many nodes are followed from an input to the constants that it is computed from.
const FOLLOWED: usize = 64;

/// The answer of a runtime about a model of one node.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It runs the node.
    Runs,
    /// It does not, for this reason.
    Refuses(String),
    /// It could not be asked.
    Silent,
}

/// A runtime that is asked.
pub struct Asking<'a> {
    /// Its name and version.
    pub runtime: &'a str,
    /// Asks about a model of one node.
    pub ask: &'a mut dyn FnMut(&Model) -> Answer,
}

/// Replaces unknown verdicts by the answers of the runtime, which is asked about each kind of node once.
pub(super) fn ask(model: &Model, nodes: &mut [JudgedNode], asking: &mut Asking<'_>) {
    let mut asked: Vec<(NodeId, Answer)> = Vec::new();
    for judged in nodes.iter_mut().filter(|judged| judged.verdict == Verdict::Unknown) {
        let Some(node) = judged.id else { continue };
        let known = asked.iter().find(|(other, _)| is_alike(&model.graph, *other, node));
        let answer = match known {
            Some((_, answer)) => answer.clone(),
            None => {
                let answer = alone(model, node).map_or(Answer::Silent, |part| (asking.ask)(&part));
                asked.push((node, answer.clone()));
                answer
            }
        };
        match answer {
            Answer::Runs => {
                judged.verdict = Verdict::Native;
                judged.reason = format!("asked {}", asking.runtime);
                judged.change = None;
            }
            Answer::Refuses(why) => {
                judged.verdict = Verdict::Refused;
                judged.reason = format!("asked {}: {why}", asking.runtime);
                judged.change = Some(ELSEWHERE.to_owned());
            }
            Answer::Silent => {}
        }
    }
}

/// Whether two nodes are the same but for the values that they read at run time.
fn is_alike(graph: &Graph, one: NodeId, other: NodeId) -> bool {
    let (a, b) = (&graph.nodes[one], &graph.nodes[other]);
    let is_same = |(x, y): (&Option<ValueId>, &Option<ValueId>)| match (x, y) {
        (Some(x), Some(y)) if x == y => true,
        (Some(x), Some(y)) => {
            let is_computed = |value: &ValueId| !is_of_constants(graph, *value);
            is_computed(x) && is_computed(y) && graph.values[*x].ty == graph.values[*y].ty
        }
        (x, y) => x == y,
    };
    let reads = |id: NodeId| -> Vec<bool> {
        let outputs = graph.nodes[id].outputs.iter();
        outputs.map(|value| value.is_some_and(|value| graph.is_read(value))).collect()
    };
    (&a.domain, &a.op, &a.overload) == (&b.domain, &b.op, &b.overload)
        && a.inputs.len() == b.inputs.len()
        && a.inputs.iter().zip(&b.inputs).all(is_same)
        && reads(one) == reads(other)
        && format!("{:?}", a.attributes) == format!("{:?}", b.attributes)
}

/// A model of this node alone: its inputs are inputs of the model, except for constants. `None` for a node inside of
/// another one, one with blocks, and one whose inputs have no known type.
fn alone(model: &Model, node: NodeId) -> Option<Model> {
    let data = &model.graph.nodes[node];
    if data.block != Some(model.graph.main()) || data.blocks().next().is_some() {
        return None;
    }
    let computed: FxHashSet<ValueId> =
        data.inputs.iter().flatten().copied().filter(|x| !is_of_constants(&model.graph, *x)).collect();
    let is_untyped = |value: &ValueId| match &model.graph.values[*value].ty {
        Type::Tensor { dtype, .. } => dtype.is_none(),
        other => *other == Type::Unknown,
    };
    if computed.iter().any(is_untyped) {
        return None;
    }
    let all = || data.outputs.iter().flatten().copied();
    let read: Vec<ValueId> = all().filter(|value| model.graph.is_read(*value)).collect();
    let outputs = if read.is_empty() { all().collect() } else { read };
    let mut part = model.to_part();
    let graph = &mut part.graph;
    let main = graph.main();
    let mut inputs: Vec<ValueId> = computed.into_iter().collect();
    inputs.sort_unstable();
    for (at, value) in inputs.into_iter().enumerate() {
        if matches!(graph.values[value].def, Def::Node(..)) {
            let ty = graph.values[value].ty.clone();
            let input = graph.add_input(main, Some(format!("probe.input.{at}").into()), ty);
            graph.replace_uses(value, input);
        }
    }
    for (at, value) in outputs.iter().enumerate() {
        graph.values[*value].name = Some(format!("probe.output.{at}").into());
    }
    part.output_names = (0..outputs.len()).map(|at| format!("probe.output.{at}")).collect();
    graph.set_outputs(main, outputs);
    tidy::model(&mut part);
    tidy::drop_inputs(&mut part);
    Some(part)
}

/// Whether `value` is a constant, or computed from nothing but constants.
fn is_of_constants(graph: &Graph, value: ValueId) -> bool {
    let (mut seen, mut waiting) = (FxHashSet::default(), vec![value]);
    while let Some(value) = waiting.pop() {
        match graph.values[value].def {
            Def::Initializer(_) | Def::Literal(_) => {}
            Def::Input(..) | Def::Gone => return false,
            Def::Node(node, _) => {
                let data = &graph.nodes[node];
                if data.inputs.is_empty() || data.blocks().next().is_some() || seen.len() > FOLLOWED {
                    return false;
                }
                if seen.insert(node) {
                    waiting.extend(data.inputs.iter().flatten());
                }
            }
        }
    }
    true
}
