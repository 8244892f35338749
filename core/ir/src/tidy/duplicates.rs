//! Merging of duplicate nodes and constants.

use std::hash::{Hash, Hasher};

use bytes::Bytes;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::ir::{Attr, BlockId, Graph, Node, NodeId, Shape, ValueId};
use crate::ops::{Op, lookup};
use crate::tensor::{DType, Source};

/// Larger constants are not compared.
const SMALL_BYTES: u64 = 1024;

/// Makes the readers of a small constant in memory read the first equal one; returns how many
/// constants lost their readers. Weights keep their names.
pub fn constants(graph: &mut Graph) -> usize {
    let mut first: FxHashMap<(DType, Vec<u64>, Bytes), ValueId> = FxHashMap::default();
    let mut same: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    let main = graph.main();
    for initializer in graph.initializers.iter().filter(|i| !i.weight && i.block == main) {
        let data = &initializer.data;
        let (Source::Inline(bytes), None, 0) = (&data.source, &data.strides, data.offset) else { continue };
        if bytes.len() as u64 > SMALL_BYTES {
            continue;
        }
        let key = (data.dtype, data.shape.clone(), bytes.clone());
        let kept = *first.entry(key).or_insert(initializer.value);
        if kept != initializer.value {
            same.insert(initializer.value, kept);
        }
    }
    let named: Vec<ValueId> = graph.initializers.iter().map(|i| i.value).collect();
    for (twin, kept) in named.iter().filter_map(|v| Some((v, same.get(v)?))) {
        if graph.values[*kept].name.is_none() {
            graph.values[*kept].name = graph.values[*twin].name.take();
        }
    }
    graph.replace_all(&same);
    same.len()
}

/// Makes the readers of a computation with sizes read the first equal one that they can see;
/// returns how many nodes lost their readers.
pub(super) fn sizes(graph: &mut Graph) -> usize {
    let mut scopes = Scopes { seen: FxHashMap::default(), same: FxHashMap::default() };
    scopes.block(graph, graph.main());
    let same = scopes.same;
    graph.record_all_merged(&same);
    graph.replace_all(&same);
    same.len()
}

struct Scopes {
    /// The nodes in sight, by fingerprint.
    seen: FxHashMap<u64, SmallVec<[NodeId; 1]>>,
    same: FxHashMap<ValueId, ValueId>,
}

impl Scopes {
    fn block(&mut self, graph: &Graph, block: BlockId) {
        let mut entered = Vec::new();
        for id in graph.order(block) {
            let node = &graph.nodes[id];
            for inner in node.blocks() {
                self.block(graph, inner);
            }
            let Some(output) = size_output(graph, node) else { continue };
            let print = self.fingerprint(node);
            let twins = self.seen.entry(print).or_default();
            let twin = twins.iter().copied().find(|t| equal(&self.same, &graph.nodes[*t], node));
            if let Some(kept) = twin.and_then(|t| graph.nodes[t].outputs.first().copied().flatten()) {
                self.same.insert(output, kept);
            } else {
                twins.push(id);
                entered.push(print);
            }
        }
        // Values of a nested block are out of scope after it.
        for print in entered {
            if let Some(twins) = self.seen.get_mut(&print) {
                twins.pop();
            }
        }
    }

    fn fingerprint(&self, node: &Node) -> u64 {
        let mut hash = FxHasher::default();
        node.op.hash(&mut hash);
        for input in &node.inputs {
            resolve(&self.same, *input).hash(&mut hash);
        }
        hash.finish()
    }
}

/// The only output of a node that computes with sizes.
fn size_output(graph: &Graph, node: &Node) -> Option<ValueId> {
    let [Some(output)] = node.outputs[..] else { return None };
    let value = &graph.values[output];
    let small = value.ty.dtype() == Some(DType::I64)
        && value.ty.shape().and_then(Shape::rank).is_some_and(|r| r <= 1);
    // A value that was named is one that somebody looks for.
    let computes_sizes = lookup(&node.domain, &node.op).is_some_and(Op::computes_sizes);
    (small && value.name.is_none() && computes_sizes).then_some(output)
}

fn resolve(same: &FxHashMap<ValueId, ValueId>, value: Option<ValueId>) -> Option<ValueId> {
    value.map(|v| same.get(&v).copied().unwrap_or(v))
}

fn equal(same: &FxHashMap<ValueId, ValueId>, a: &Node, b: &Node) -> bool {
    a.op == b.op
        && a.inputs.len() == b.inputs.len()
        && a.inputs.iter().zip(&b.inputs).all(|(x, y)| resolve(same, *x) == resolve(same, *y))
        && a.attributes.len() == b.attributes.len()
        && a.attributes.iter().zip(&b.attributes).all(|(x, y)| {
            x.name == y.name
                && match (&x.value, &y.value) {
                    (Attr::Int(m), Attr::Int(n)) => m == n,
                    (Attr::Ints(m), Attr::Ints(n)) => m == n,
                    _ => false,
                }
        })
}
