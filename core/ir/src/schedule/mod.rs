//! Orders nodes, within their dependencies, so that fewer bytes are alive at once.
//!
//! It helps runtimes that execute nodes in the order of the file. ONNX Runtime reorders them unless its
//! `execution_order` is `PRIORITY_BASED`.
//!
//! A value is alive from the node that computes it to its last reader. Weights and inputs are not counted, because
//! they are always there; the output of a `Reshape` or a similar node shares the buffer of its input. The transient
//! values of a nested graph count at its node. Unknown sizes are assigned numbers, twice, and an order is accepted
//! if it needs less memory for the first assignment and no more for the second; otherwise the order stays. The time
//! is `O(n log n)` in the size of the graph, and the result depends on the model alone.

mod flow;
mod greedy;
mod near;
mod peak;
mod sizes;

#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;

use crate::ir::{BlockId, Model};
use flow::Flow;
use sizes::Bytes;
pub(crate) use sizes::Sizes;

/// The result of ordering, at the sizes with which the program was traced, or 16 for an unknown size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ordered {
    /// The most bytes that were alive at once, without weights and inputs.
    pub before: u64,
    /// The most that are.
    pub after: u64,
    /// How many nodes stand behind another node than before.
    pub moved: usize,
    /// How many values have no known rank or element type: they count as nothing.
    pub unknown: usize,
}

/// Orders the nodes of the main graph and of those nested in it. Nodes that draw random numbers stay in their order.
pub fn order(model: &mut Model) -> Ordered {
    let mut sizes = Sizes::from_symbols(&model.symbols);
    let graph = &mut model.graph;
    let mut inner: FxHashMap<BlockId, (Bytes, Bytes)> = FxHashMap::default();
    let (mut moved, main) = (0, graph.main());
    for block in graph.reachable_blocks().into_iter().rev() {
        let flow = Flow::from_block(graph, block, &mut sizes, &inner);
        let (order, before, after) = best(&flow);
        if let Some(order) = order {
            moved += order.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
            let nodes: Vec<_> = order.iter().map(|at| flow.nodes[*at as usize]).collect();
            graph.set_order(block, &nodes);
        }
        inner.insert(block, (before, after));
    }
    let (before, after) = inner.remove(&main).unwrap_or_default();
    Ordered { before: before[0], after: after[0], moved, unknown: sizes.unknown }
}

/// The best order that was found, `None` for the present one, and the peaks in the present one and in it.
fn best(flow: &Flow) -> (Option<Vec<u32>>, Bytes, Bytes) {
    let present: Vec<u32> = (0..flow.nodes.len() as u32).collect();
    let before = peak::of(flow, &present, false);
    let (mut least, mut found) = (peak::of(flow, &present, true), None);
    let last_first = greedy::backwards(flow);
    for order in
        [near::order(flow, &present), near::order(flow, &last_first), last_first, greedy::forwards(flow)]
    {
        let peak = peak::of(flow, &order, true);
        if peak[0] < least[0] && peak.iter().zip(&least).all(|(new, old)| new <= old) {
            (least, found) = (peak, Some(order));
        }
    }
    (found, before, least)
}
