//! Patches: checked against what they replace, then applied.

use rustc_hash::FxHashSet;

use super::edit::Journal;
use super::matcher::Match;
use crate::diagnose::OriginId;
use crate::ir::validate::{self, Stated};
use crate::ir::{Model, NodeId, ValueId};

/// Why a patch cannot be applied; the graph is to be left as it was.
pub(super) type Unsound = String;

/// Checks what a rule built in front of `root`: `answer` stands for the outputs of the root.
pub(super) fn check(
    model: &mut Model,
    journal: &Journal,
    matched: &Match,
    root: NodeId,
    answer: &[Option<ValueId>],
) -> Result<(), Unsound> {
    if let Some(problem) = &journal.problem {
        return Err(problem.clone());
    }
    let outputs = model.graph.nodes[root].outputs.clone();
    if answer.len() != outputs.len() {
        return Err(format!("it replaces {} outputs of {}", answer.len(), outputs.len()));
    }
    visible(model, journal, matched, root, answer)?;
    if let Some(problem) = validate::nodes(model, &journal.nodes).into_iter().next() {
        return Err(problem.message);
    }
    for (index, (old, new)) in outputs.iter().zip(answer).enumerate() {
        let Some(old) = *old else { continue };
        match new {
            Some(new) => {
                let (was, is) = (model.graph.values[old].ty.clone(), model.graph.values[*new].ty.clone());
                if let Some((was, is)) = validate::contradiction(&mut model.symbols, &was, &is) {
                    return Err(format!("output {index} would be {is} instead of {was}"));
                }
            }
            None if model.graph.is_read(old) => {
                return Err(format!("output {index} is read, but nothing stands for it"));
            }
            None => {}
        }
    }
    Ok(())
}

/// What the patch reads and returns must be defined in front of the root.
fn visible(
    model: &Model,
    journal: &Journal,
    matched: &Match,
    root: NodeId,
    answer: &[Option<ValueId>],
) -> Result<(), Unsound> {
    let graph = &model.graph;
    let mut known: FxHashSet<ValueId> = matched.values.iter().copied().flatten().collect();
    for node in &journal.nodes {
        known.extend(graph.nodes[*node].outputs.iter().flatten());
    }
    let read = journal.nodes.iter().flat_map(|node| graph.nodes[*node].inputs.iter().copied().flatten());
    for value in read.chain(answer.iter().copied().flatten()) {
        if !known.contains(&value) && !graph.sees(root, value) {
            let name = graph.values[value].name.as_deref().unwrap_or("?");
            return Err(format!("it uses the value `{name}` where that is not defined yet"));
        }
    }
    Ok(())
}

/// Applies a patch that was checked: its values take over from the outputs of the root, and what only
/// the root needed goes.
pub(super) fn apply(
    model: &mut Model,
    stated: &mut Stated,
    journal: &Journal,
    matched: &Match,
    root: NodeId,
    answer: &[Option<ValueId>],
    origin: Option<OriginId>,
) {
    for node in &journal.nodes {
        model.graph.nodes[*node].origin = origin;
    }
    let outputs = model.graph.nodes[root].outputs.clone();
    for (old, new) in outputs.iter().zip(answer) {
        if let (Some(old), Some(new)) = (old, new) {
            replace(model, stated, *old, *new, journal.made(*new));
        }
    }
    for node in matched.nodes.iter().flatten() {
        let graph = &mut model.graph;
        let dead = graph.nodes[*node].outputs.iter().flatten().all(|value| !graph.is_read(*value));
        if dead && graph.nodes[*node].block.is_some() {
            graph.remove_with_blocks(*node);
        }
    }
}

/// Makes `new` take over from `old`: its readers, what is known about it, and its name when `new` is
/// `fresh` and has none.
pub(super) fn replace(model: &mut Model, stated: &mut Stated, old: ValueId, new: ValueId, fresh: bool) {
    if old == new {
        return;
    }
    let known = model.graph.values[old].ty.clone();
    if let crate::ir::Type::Tensor { dtype: Some(dtype), shape } = known {
        model.graph.values[new].ty.fill(dtype, &shape);
    }
    if let (Some(contents), None) = (model.graph.shape_value(old), model.graph.shape_value(new)) {
        model.graph.set_shape_value(new, contents);
    }
    if let Some(says) = stated.get(&old).cloned() {
        stated.entry(new).or_insert(says);
    }
    if fresh && model.graph.values[new].name.is_none() {
        model.graph.values[new].name = model.graph.values[old].name.take();
    }
    model.graph.replace_uses(old, new);
}
