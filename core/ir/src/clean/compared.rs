//! Comparisons of positions that have the same outcome for every element.
//!
//! A single token after a cache compares its position with all earlier ones: `Range(0, n + 1) <= n`. Such a
//! comparison becomes a constant in a choice or a conjunction whose shape does not depend on it, and rules simplify
//! the rest.

use super::affine::{Affine, dims};
use crate::ir::{Graph, NodeId};
use crate::ops::{Traits, traits};
use crate::sym::{Dim, Symbols};
use crate::tensor::{DType, LazyTensor};

/// Replaces comparisons with a known outcome by constants where conjunctions and choices read them; returns how
/// many uses were replaced.
pub(super) fn graph(graph: &mut Graph, symbols: &mut Symbols) -> usize {
    let mut count = 0;
    let nodes: Vec<NodeId> = graph.nodes.ids().filter(|node| graph.nodes[*node].block.is_some()).collect();
    for node in nodes {
        let Some(outcome) = outcome(graph, symbols, node) else { continue };
        let Some(output) = graph.nodes[node].outputs.first().copied().flatten() else { continue };
        let readers: Vec<_> = graph.values[output].uses().to_vec();
        for place in readers {
            if !is_shaped_by_others(graph, place.node, place.index as usize) {
                continue;
            }
            let constant = LazyTensor::inline(DType::Bool, Vec::new(), vec![u8::from(outcome)]);
            let constant = graph.add_initializer(None, constant);
            graph.set_input(place.node, place.index as usize, Some(constant));
            count += 1;
        }
    }
    count
}

/// Returns the outcome of a comparison if it is the same for every element.
fn outcome(graph: &Graph, symbols: &mut Symbols, node: NodeId) -> Option<bool> {
    let data = &graph.nodes[node];
    let output = data.outputs.first().copied().flatten().filter(|_| data.domain.is_empty())?;
    let lead = Affine::lead(graph, symbols, data, output)?;
    let extents: Vec<Dim> = dims(graph, output)?.into_iter().rev().collect();
    if lead.is_natural(symbols, &extents) {
        return Some(true);
    }
    lead.opposite(symbols)?.is_natural(symbols, &extents).then_some(false)
}

/// Whether a node that treats elements alone has its shape from other operands than this one.
fn is_shaped_by_others(graph: &Graph, node: NodeId, index: usize) -> bool {
    let data = &graph.nodes[node];
    if !traits(data).has(Traits::BROADCASTING) {
        return false;
    }
    let Some(whole) = data.outputs.first().copied().flatten().and_then(|output| dims(graph, output)) else {
        return false;
    };
    let shapes: Option<Vec<Vec<Dim>>> = data
        .inputs
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != index)
        .map(|(_, input)| dims(graph, (*input)?))
        .collect();
    let from_last = |shape: &[Dim], at: usize| shape.iter().rev().nth(at).copied();
    shapes.is_some_and(|shapes| {
        let mut extents = whole.iter().rev().enumerate();
        extents.all(|(at, extent)| shapes.iter().any(|shape| from_last(shape, at) == Some(*extent)))
    })
}
