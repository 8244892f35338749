//! Checks that the target runs the nodes that rules and passes add.

use super::edit::Journal;
use super::matcher::Match;
use crate::ir::{Graph, Model, NodeId};
use crate::legalise::{self, Target};

/// Returns the reason to reject a patch: it adds a node that `target` does not run, and the target runs all that it
/// replaces.
pub(super) fn patch(model: &Model, target: &Target, journal: &Journal, matched: &Match) -> Option<String> {
    let (graph, opset) = (&model.graph, model.opset());
    let mut replaced = matched.roots.iter().copied().chain(matched.nodes.iter().copied().flatten());
    let lacking = journal.nodes.iter().find(|node| !legalise::runs(graph, opset, target, **node))?;
    if replaced.any(|node| !legalise::runs(graph, opset, target, node)) {
        return None;
    }
    Some(describe(graph, target, *lacking))
}

/// Returns the reason to revert a pass: `after` has more nodes that `target` does not run than `before`.
pub(super) fn pass(before: &Graph, after: &Graph, opset: i64, target: &Target) -> Option<String> {
    if target.takes_everything() {
        return None;
    }
    let lacking = |graph: &Graph| -> Vec<NodeId> {
        let nodes = graph.blocks.ids().flat_map(|block| graph.order(block).collect::<Vec<_>>());
        nodes.filter(|node| !legalise::runs(graph, opset, target, *node)).collect()
    };
    let (had, has) = (lacking(before), lacking(after));
    let added = has.iter().find(|node| !had.contains(node)).filter(|_| has.len() > had.len())?;
    Some(describe(after, target, *added))
}

fn describe(graph: &Graph, target: &Target, node: NodeId) -> String {
    let data = &graph.nodes[node];
    let dtype = |value: &Option<_>| graph.values[(*value)?].ty.dtype();
    let of = data.inputs.iter().find_map(dtype).map_or_else(String::new, |dtype| format!(" of {dtype}"));
    format!("{} has no kernel for `{}`{of}", target.name(), data.op)
}
