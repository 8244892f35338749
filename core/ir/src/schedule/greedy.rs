//! Greedy orders: the next node is the one that adds the fewest bytes; ties go to the node that the latest one made
//! ready.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::flow::Flow;

/// The nodes that can come next. A node whose bytes changed is entered again, and its older entries are ignored.
struct Ready {
    heap: BinaryHeap<Reverse<(i64, Reverse<u32>, u32)>>,
    /// The bytes that each node adds; `None` for a node that is not ready or was already taken.
    added: Vec<Option<i64>>,
    /// When the latest of the nodes came that had to come before it.
    since: Vec<u32>,
    waits: Vec<u32>,
}

impl Ready {
    fn new(waits: Vec<u32>) -> Self {
        let nodes = waits.len();
        Self { heap: BinaryHeap::new(), added: vec![None; nodes], since: vec![0; nodes], waits }
    }

    /// Enters a node, or updates it. Among equals, the one with the smallest `place` comes first.
    fn enter(&mut self, node: u32, added: i64, place: u32) {
        if self.added[node as usize] != Some(added) {
            self.added[node as usize] = Some(added);
            self.heap.push(Reverse((added, Reverse(self.since[node as usize]), place)));
        }
    }

    /// Whether `node`, which waited for the one that came at `step`, waits for nothing more.
    fn goes(&mut self, node: u32, step: u32) -> bool {
        let node = node as usize;
        self.since[node] = step;
        self.waits[node] -= 1;
        self.waits[node] == 0
    }

    /// Returns the next node; `node_at` maps a position to its node.
    fn next(&mut self, node_at: impl Fn(u32) -> u32) -> Option<u32> {
        while let Some(Reverse((added, _, place))) = self.heap.pop() {
            let node = node_at(place);
            if self.added[node as usize] == Some(added) {
                self.added[node as usize] = None;
                return Some(node);
            }
        }
        None
    }

    fn is_ready(&self, node: u32) -> bool {
        self.added[node as usize].is_some()
    }
}

/// Orders nodes from the first on: a node adds its outputs and frees the buffers that it is the last to read.
pub(super) fn forwards(flow: &Flow) -> Vec<u32> {
    let mut left: Vec<u32> = flow.buffers.iter().map(|buffer| buffer.readers.len() as u32).collect();
    let added = |node: u32, left: &[u32]| {
        let step = &flow.steps[node as usize];
        let makes = step.makes.iter().map(|buffer| bytes(flow, *buffer));
        let ends = |buffer: &&u32| left[**buffer as usize] == 1 && !flow.buffers[**buffer as usize].kept;
        let frees = step.reads.iter().filter(ends).map(|buffer| bytes(flow, *buffer));
        makes.fold(0, i64::saturating_add).saturating_sub(frees.fold(0, i64::saturating_add))
    };
    let mut ready = Ready::new(flow.steps.iter().map(|step| step.needs).collect());
    for node in 0..flow.steps.len() as u32 {
        if flow.steps[node as usize].needs == 0 {
            ready.enter(node, added(node, &left), node);
        }
    }
    let mut order = Vec::with_capacity(flow.steps.len());
    while let Some(node) = ready.next(|place| place) {
        order.push(node);
        let step = &flow.steps[node as usize];
        for buffer in &step.reads {
            left[*buffer as usize] -= 1;
            if left[*buffer as usize] == 1 {
                for reader in &flow.buffers[*buffer as usize].readers {
                    if ready.is_ready(*reader) {
                        ready.enter(*reader, added(*reader, &left), *reader);
                    }
                }
            }
        }
        for next in &step.after {
            if ready.goes(*next, order.len() as u32) {
                ready.enter(*next, added(*next, &left), *next);
            }
        }
    }
    order
}

/// Orders nodes from the last on: a node adds the inputs that no later node reads and frees its outputs.
pub(super) fn backwards(flow: &Flow) -> Vec<u32> {
    let nodes = flow.steps.len() as u32;
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); flow.steps.len()];
    for (node, step) in (0..).zip(&flow.steps) {
        step.after.iter().for_each(|next| before[*next as usize].push(node));
    }
    let mut alive: Vec<bool> = flow.buffers.iter().map(|buffer| buffer.kept).collect();
    let added = |node: u32, alive: &[bool]| {
        let step = &flow.steps[node as usize];
        let reads = step.reads.iter().filter(|buffer| !alive[**buffer as usize]);
        let makes = step.makes.iter().filter(|buffer| alive[**buffer as usize]);
        let sum = |sum: i64, buffer: &u32| sum.saturating_add(bytes(flow, *buffer));
        reads.fold(0, sum).saturating_sub(makes.fold(0, sum))
    };
    // Of equals the last comes first, which is then the last again.
    let reversed = |node: u32| nodes - 1 - node;
    let mut ready = Ready::new(flow.steps.iter().map(|step| step.after.len() as u32).collect());
    for node in 0..nodes {
        if flow.steps[node as usize].after.is_empty() {
            ready.enter(node, added(node, &alive), reversed(node));
        }
    }
    let mut order = Vec::with_capacity(flow.steps.len());
    while let Some(node) = ready.next(reversed) {
        order.push(node);
        let step = &flow.steps[node as usize];
        step.makes.iter().for_each(|buffer| alive[*buffer as usize] = false);
        for buffer in &step.reads {
            if !std::mem::replace(&mut alive[*buffer as usize], true) {
                for reader in &flow.buffers[*buffer as usize].readers {
                    if ready.is_ready(*reader) {
                        ready.enter(*reader, added(*reader, &alive), reversed(*reader));
                    }
                }
            }
        }
        for previous in &before[node as usize] {
            if ready.goes(*previous, order.len() as u32) {
                ready.enter(*previous, added(*previous, &alive), reversed(*previous));
            }
        }
    }
    order.reverse();
    order
}

fn bytes(flow: &Flow, buffer: u32) -> i64 {
    i64::try_from(flow.buffers[buffer as usize].bytes[0]).unwrap_or(i64::MAX)
}
