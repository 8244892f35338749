//! The order of a block after regions were replaced.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::flow::Flow;
use crate::ir::{BlockId, Graph, NodeId};

/// Orders the nodes of `block` so that each comes after its inputs, and otherwise by `places`. A node
/// without a place takes that of the node before it.
pub(super) fn sort(graph: &mut Graph, block: BlockId, places: &FxHashMap<NodeId, usize>) {
    let flow = Flow::from_block(graph, block);
    let mut after: Vec<Vec<u32>> = vec![Vec::new(); flow.nodes.len()];
    let mut waiting = vec![0u32; flow.nodes.len()];
    for (from, to) in &flow.edges {
        after[*from as usize].push(*to);
        waiting[*to as usize] += 1;
    }
    let mut place = 0;
    let mut keys = Vec::with_capacity(flow.nodes.len());
    for node in &flow.nodes {
        place = places.get(node).copied().unwrap_or(place);
        keys.push(place);
    }
    let mut ready: BinaryHeap<Reverse<(usize, usize)>> =
        (0..keys.len()).filter(|n| waiting[*n] == 0).map(|n| Reverse((keys[n], n))).collect();
    let mut order = Vec::with_capacity(keys.len());
    while let Some(Reverse((_, node))) = ready.pop() {
        order.push(flow.nodes[node]);
        for next in &after[node] {
            let next = *next as usize;
            waiting[next] -= 1;
            if waiting[next] == 0 {
                ready.push(Reverse((keys[next], next)));
            }
        }
    }
    assert_eq!(order.len(), keys.len(), "regions are convex");
    graph.set_order(block, &order);
}
