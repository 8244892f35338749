//! What the target of the model runs: rules and passes write no node that it has no kernel for.

use super::edit::Journal;
use super::matcher::Match;
use crate::ir::{Graph, Model, NodeId};
use crate::legalise::{self, Target};

/// Why a patch is not applied: it adds a node that `target` does not run, and the target runs all that the patch replaces.
pub(super) fn patch(model: &Model, target: &Target, journal: &Journal, matched: &Match) -> Option<String> {
    let (graph, opset) = (&model.graph, model.opset());
    let mut replaced = matched.roots.iter().copied().chain(matched.nodes.iter().copied().flatten());
    let lacking = journal.nodes.iter().find(|node| !legalise::runs(graph, opset, target, **node))?;
    if replaced.any(|node| !legalise::runs(graph, opset, target, node)) {
        return None;
    }
    Some(describe(graph, target, *lacking))
}

/// Why a pass is taken back: in `after` there are more nodes that `target` does not run than in `before`.
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
