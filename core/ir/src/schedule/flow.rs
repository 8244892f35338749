//! A block as numbers: its nodes, the memory that each allocates and reads, and their dependencies.

use rustc_hash::FxHashMap;

use super::sizes::{Bytes, Sizes, TIMES};
use crate::ir::{BlockId, Def, Graph, Node, NodeId, ValueId};
use crate::ops::{Op, Traits, lookup, traits};

/// The memory use of the nodes of a block. Nodes are identified by their indices in the present order.
pub(super) struct Flow {
    pub(super) nodes: Vec<NodeId>,
    pub(super) steps: Vec<Step>,
    pub(super) buffers: Vec<Buffer>,
}

/// The buffers and dependencies of a node.
#[derive(Default)]
pub(super) struct Step {
    /// The buffers that it makes.
    pub(super) makes: Vec<u32>,
    /// The buffers that it reads, each once, in ascending order.
    pub(super) reads: Vec<u32>,
    /// The peak memory of its nested graphs while it runs, before and after they were reordered.
    pub(super) inside: [Bytes; 2],
    /// The nodes that need it, each once.
    pub(super) after: Vec<u32>,
    /// How many nodes it needs.
    pub(super) needs: u32,
}

/// Memory that a node of the block makes.
pub(super) struct Buffer {
    pub(super) bytes: Bytes,
    /// The nodes that read it, each once.
    pub(super) readers: Vec<u32>,
    /// Whether it is there until the end.
    pub(super) kept: bool,
}

impl Flow {
    /// The flow of `block`; `inner` has the peaks of nested blocks.
    pub(super) fn from_block(
        graph: &Graph,
        block: BlockId,
        sizes: &mut Sizes,
        inner: &FxHashMap<BlockId, (Bytes, Bytes)>,
    ) -> Self {
        let nodes: Vec<NodeId> = graph.order(block).collect();
        let places: FxHashMap<NodeId, u32> = nodes.iter().copied().zip(0..).collect();
        let mut steps: Vec<Step> = nodes.iter().map(|_| Step::default()).collect();
        let mut buffers: Vec<Buffer> = Vec::new();
        let mut held: FxHashMap<ValueId, u32> = FxHashMap::default();
        let mut drawn: Option<u32> = None;
        let (mut used, mut before) = (Vec::new(), Vec::new());
        for (at, id) in (0..).zip(&nodes) {
            let node = &graph.nodes[*id];
            uses(graph, node, &mut used);
            let step = &mut steps[at as usize];
            step.reads = used.iter().filter_map(|value| held.get(value).copied()).collect();
            sort(&mut step.reads);
            for buffer in &step.reads {
                buffers[*buffer as usize].readers.push(at);
            }
            for block in node.blocks() {
                let (then, now) = inner.get(&block).copied().unwrap_or_default();
                for time in 0..TIMES {
                    step.inside[0][time] = step.inside[0][time].max(then[time]);
                    step.inside[1][time] = step.inside[1][time].max(now[time]);
                }
            }
            // The result is in the memory of the first input.
            let hands_on = traits(node).has(Traits::RESHAPES);
            for value in node.outputs.iter().flatten() {
                if hands_on {
                    // An alias of a weight or an input takes no memory either.
                    let source = node.inputs.first().copied().flatten().and_then(|v| held.get(&v).copied());
                    held.extend(source.map(|buffer| (*value, buffer)));
                    continue;
                }
                let buffer = buffers.len() as u32;
                buffers.push(Buffer {
                    bytes: sizes.bytes(&graph.values[*value]),
                    readers: Vec::new(),
                    kept: false,
                });
                held.insert(*value, buffer);
                step.makes.push(buffer);
            }
            before.clear();
            before.extend(used.iter().filter_map(|value| match graph.values[*value].def {
                Def::Node(maker, _) => places.get(&maker).copied(),
                _ => None,
            }));
            if is_random(graph, node) {
                before.extend(drawn.replace(at));
            }
            sort(&mut before);
            step.needs = before.len() as u32;
            for maker in &before {
                steps[*maker as usize].after.push(at);
            }
        }
        for value in graph.blocks[block].outputs() {
            if let Some(buffer) = held.get(value) {
                buffers[*buffer as usize].kept = true;
            }
        }
        Self { nodes, steps, buffers }
    }
}

fn sort(places: &mut Vec<u32>) {
    places.sort_unstable();
    places.dedup();
}

/// The values that a node reads, those that its nested graphs read included.
fn uses(graph: &Graph, node: &Node, used: &mut Vec<ValueId>) {
    used.clear();
    used.extend(node.inputs.iter().flatten());
    each_block(graph, node, |block| {
        used.extend(graph.blocks[block].outputs());
        used.extend(graph.order(block).flat_map(|inner| graph.nodes[inner].inputs.iter().flatten().copied()));
    });
}

fn each_block(graph: &Graph, node: &Node, mut visit: impl FnMut(BlockId)) {
    let mut pending: Vec<BlockId> = node.blocks().collect();
    while let Some(block) = pending.pop() {
        visit(block);
        pending.extend(graph.order(block).flat_map(|inner| graph.nodes[inner].blocks()));
    }
}

/// Whether a node, or one inside of it, may give something else the next time.
fn is_random(graph: &Graph, node: &Node) -> bool {
    let draws = |node: &Node| lookup(&node.domain, &node.op).is_none_or(Op::is_random);
    let mut found = draws(node);
    each_block(graph, node, |block| found |= graph.order(block).any(|inner| draws(&graph.nodes[inner])));
    found
}
