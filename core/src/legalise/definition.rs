//! ONNX's own definitions, in the place of operators that have no other form.

use super::fit::{self, Support, Verdict};
use super::form::{self, Plan, Site};
use super::target::Target;
use crate::inline;
use crate::ir::opset;
use crate::ir::{Graph, NodeId, Type};
use crate::ops;
use crate::sym::Symbols;

/// How deep operators of a definition are themselves replaced.
const DEEPEST: usize = 8;

/// Puts the definition of `node`'s operator in its place, and returns the nodes of its block; none if there is not any.
pub(super) fn put(graph: &mut Graph, symbols: &mut Symbols, opset: i64, node: NodeId) -> Vec<NodeId> {
    let data = &graph.nodes[node];
    let Some(function) = ops::body(graph, data, &input_types(graph, node), opset) else { return Vec::new() };
    let (home, before) = (data.block, graph.nodes.len());
    let done = inline::replace(&function, graph, symbols, opset, node);
    let made = graph.nodes.ids().skip(before);
    // Those of inner blocks are visited with their blocks.
    let made = made.filter(|made| graph.nodes[*made].block == home);
    if done { made.collect() } else { Vec::new() }
}

/// The definition of a node's operator, if the target runs all of it, with casts at most. Definitions with control flow
/// are not used.
pub(super) fn plan(place: &mut Site<'_>, target: &Target) -> Option<Plan> {
    let body = within(place, target, 0)?;
    let operators = form::operators(&body);
    Some(Plan::Body(Box::new(body), operators))
}

fn within(place: &mut Site<'_>, target: &Target, depth: usize) -> Option<Graph> {
    let node = &place.graph.nodes[place.node];
    if depth > DEEPEST || !node.domain.is_empty() || node.blocks().next().is_some() {
        return None;
    }
    let schema = opset::lookup(&node.op, place.opset)?;
    let function = ops::body(place.graph, node, &input_types(place.graph, place.node), place.opset)?;
    let mut body = form::specialise(&function.graph, place, schema)?;
    for inner in body.order(body.main()).collect::<Vec<_>>() {
        if body.nodes[inner].blocks().next().is_some() {
            return None;
        }
        if !matches!(fit::judge(&body, place.opset, target, inner), Verdict::Lacks { .. }) {
            continue;
        }
        let mut site = Site { graph: &body, symbols: place.symbols, opset: place.opset, node: inner };
        let replacement = match form::choose(&mut site, target, Support::None, true) {
            Some(Plan::Body(replacement, _)) => *replacement,
            // Other types of an operator cannot be stated for a body.
            Some(Plan::Types(_)) => return None,
            None => within(&mut site, target, depth + 1)?,
        };
        form::put(&mut body, place.symbols, place.opset, inner, &replacement);
    }
    Some(form::folded(body, place.symbols, place.opset))
}

fn input_types(graph: &Graph, node: NodeId) -> Vec<Type> {
    let ty = |value: &Option<_>| value.map_or(Type::Unknown, |v| graph.values[v].ty.clone());
    graph.nodes[node].inputs.iter().map(ty).collect()
}
