//! Patches: checked against the match that they replace, then applied.

use super::edit::Journal;
use super::matcher::Match;
use crate::diagnose::OriginId;
use crate::ir::{Model, NodeId, ValueId};
use crate::valid::{self, StatedTypes};

/// The reason why a patch cannot be applied; the graph must stay unchanged.
pub(super) type Unsound = String;

/// Returns the outputs of the roots of a match, one root after the other.
fn outputs(model: &Model, matched: &Match) -> Vec<Option<ValueId>> {
    matched.roots.iter().flat_map(|root| model.graph.nodes[*root].outputs.iter().copied()).collect()
}

/// Checks the patch that a rule built for a match: `answer` holds the replacements of the outputs of the roots.
pub(super) fn check(
    model: &mut Model,
    journal: &Journal,
    matched: &Match,
    answer: &[Option<ValueId>],
) -> Result<(), Unsound> {
    if let Some(problem) = &journal.problem {
        return Err(problem.clone());
    }
    let outputs = outputs(model, matched);
    if answer.len() != outputs.len() {
        return Err(format!("it replaces {} outputs of {}", answer.len(), outputs.len()));
    }
    visible(model, journal, matched, &outputs, answer)?;
    if let Some(problem) = valid::nodes(model, &journal.nodes).into_iter().next() {
        return Err(problem.message);
    }
    for (index, (old, new)) in outputs.iter().zip(answer).enumerate() {
        let Some(old) = *old else { continue };
        match new {
            Some(new) => {
                let (was, is) = (model.graph.values[old].ty.clone(), model.graph.values[*new].ty.clone());
                if let Some((was, is)) = valid::contradiction(&mut model.symbols, &was, &is) {
                    return Err(format!("output {index} would be {is} instead of {was}"));
                }
            }
            None if is_needed(model, matched, old) => {
                return Err(format!("output {index} is read, but nothing replaces it"));
            }
            None => {}
        }
    }
    Ok(())
}

/// Whether a node that is not removed with the match reads `value`.
fn is_needed(model: &Model, matched: &Match, value: ValueId) -> bool {
    let graph = &model.graph;
    let inside = |node: NodeId| matched.roots.contains(&node) || matched.nodes.contains(&Some(node));
    graph.is_returned(value) || graph.values[value].uses().iter().any(|place| !inside(place.node))
}

/// Checks that the values that the patch reads and returns are defined before its position and do not
/// belong to the replaced nodes.
fn visible(
    model: &Model,
    journal: &Journal,
    matched: &Match,
    replaced: &[Option<ValueId>],
    answer: &[Option<ValueId>],
) -> Result<(), Unsound> {
    let graph = &model.graph;
    let read = journal.nodes.iter().flat_map(|node| graph.nodes[*node].inputs.iter().copied().flatten());
    for value in read.chain(answer.iter().copied().flatten()) {
        if replaced.contains(&Some(value)) || !journal.made(value) && !graph.sees(matched.place, value) {
            let name = graph.values[value].name.as_deref().unwrap_or("?");
            return Err(format!("it uses the value `{name}` before its definition"));
        }
    }
    Ok(())
}

/// Applies a checked patch: its values replace the outputs of the roots, and nodes that only those needed
/// are removed. Returns the number of removed nodes.
pub(super) fn apply(
    model: &mut Model,
    stated: &mut StatedTypes,
    journal: &Journal,
    matched: &Match,
    answer: &[Option<ValueId>],
    origin: Option<OriginId>,
) -> usize {
    for node in &journal.nodes {
        model.graph.nodes[*node].origin = origin;
    }
    for (old, new) in outputs(model, matched).iter().zip(answer) {
        if let (Some(old), Some(new)) = (old, new) {
            replace(model, stated, *old, *new, journal.made(*new));
        }
    }
    let graph = &mut model.graph;
    let mut left: Vec<NodeId> = matched.nodes.iter().copied().flatten().collect();
    let mut gone = 0;
    loop {
        let dead = |node: &NodeId| graph.nodes[*node].outputs.iter().flatten().all(|v| !graph.is_read(*v));
        let Some(at) = left.iter().position(dead) else { return gone };
        let node = left.swap_remove(at);
        if graph.nodes[node].block.is_some() {
            graph.remove_with_blocks(node);
            gone += 1;
        }
    }
}

/// Replaces `old` by `new`: its readers, the facts about it, and its name if `new` is `fresh` and has none.
pub(super) fn replace(model: &mut Model, stated: &mut StatedTypes, old: ValueId, new: ValueId, fresh: bool) {
    if old == new {
        return;
    }
    let known = model.graph.values[old].ty.clone();
    if let crate::ir::Type::Tensor { dtype: Some(dtype), shape } = known {
        let ty = &mut model.graph.values[new].ty;
        // The inferred type of a new node may have another expression, whose equality with the old one is not known.
        if fresh { ty.restate(dtype, &shape) } else { ty.fill(dtype, &shape) }
    }
    if let (Some(contents), None) = (model.graph.shape_value(old), model.graph.shape_value(new)) {
        model.graph.set_shape_value(new, contents);
    }
    if let Some(says) = stated.get(old).cloned() {
        stated.offer(new, says);
    }
    if fresh && model.graph.values[new].name.is_none() {
        model.graph.values[new].name = model.graph.values[old].name.take();
    }
    model.graph.replace_uses(old, new);
}
