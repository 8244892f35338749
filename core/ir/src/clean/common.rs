//! Common subexpression elimination: equal nodes are merged into the first of them.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::ir::{Attr, BlockId, Def, Graph, Node, NodeId, ShapeValue, ValueId};
use crate::ops::{Traits, lookup};
use crate::sym::Dim;
use crate::tensor::{DType, LazyTensor, Source};

/// Tensors in attributes that take more bytes are not compared.
const SMALL_BYTES: u64 = 1024;

/// Makes the readers of a computation read the first equal one that they can see, in the same block or in one around it;
/// returns how many nodes lost their readers. Sizes are equal when their expressions are.
pub(super) fn graph(graph: &mut Graph) -> usize {
    let mut scopes = Scopes::default();
    scopes.block(graph, graph.main());
    let Scopes { same, count, .. } = scopes;
    for (twin, kept) in &same {
        let known = graph.values[*twin].ty.clone();
        if let Some((dtype, shape)) = known.dtype().zip(known.shape()) {
            graph.values[*kept].ty.fill(dtype, shape);
        }
    }
    graph.record_all_merged(&same);
    graph.replace_all(&same);
    count
}

#[derive(Default)]
struct Scopes {
    /// The nodes in sight, by fingerprint.
    nodes: FxHashMap<u64, SmallVec<[NodeId; 1]>>,
    /// Values whose elements are these, in sight.
    sizes: FxHashMap<(DType, usize, ShapeValue), ValueId>,
    same: FxHashMap<ValueId, ValueId>,
    count: usize,
}

impl Scopes {
    fn block(&mut self, graph: &Graph, block: BlockId) {
        let (mut entered, mut held) = (Vec::new(), Vec::new());
        for id in graph.order(block) {
            let node = &graph.nodes[id];
            for inner in node.blocks() {
                self.block(graph, inner);
            }
            if !is_plain(node) {
                continue;
            }
            if let Some((output, key)) = size(graph, node) {
                if let Some(kept) = self.sizes.get(&key).copied() {
                    if self.stands_for(graph, kept, output) {
                        self.same.insert(output, kept);
                        self.count += 1;
                    }
                    continue;
                }
                self.sizes.insert(key.clone(), output);
                held.push(key);
            }
            let print = self.fingerprint(node);
            let found = self.nodes.get(&print).into_iter().flatten().copied();
            let twin = found.into_iter().find(|twin| self.equal(&graph.nodes[*twin], node));
            match twin {
                Some(twin) => self.merge(graph, &graph.nodes[twin], node),
                None => {
                    self.nodes.entry(print).or_default().push(id);
                    entered.push(print);
                }
            }
        }
        // Values of a nested block are out of scope after it.
        for print in entered {
            if let Some(twins) = self.nodes.get_mut(&print) {
                twins.pop();
            }
        }
        for key in held {
            self.sizes.remove(&key);
        }
    }

    /// Makes the outputs of `twin` those of `kept`, if each that is read can be.
    fn merge(&mut self, graph: &Graph, kept: &Node, twin: &Node) {
        let pairs = || {
            let read = twin.outputs.iter().enumerate().filter_map(|(at, output)| Some((at, (*output)?)));
            read.filter(|(_, output)| graph.is_read(*output))
        };
        let made = |at: usize| kept.outputs.get(at).copied().flatten();
        if pairs().next().is_none()
            || !pairs().all(|(at, twin)| made(at).is_some_and(|kept| self.stands_for(graph, kept, twin)))
        {
            return;
        }
        for (at, twin) in pairs() {
            self.same.extend(made(at).map(|kept| (twin, kept)));
        }
        self.count += 1;
    }

    /// Whether `kept` can be returned where `twin` is: a block that returns one value twice, or one from around it, needs
    /// a copy of it, so that nothing would be gained.
    fn stands_for(&self, graph: &Graph, kept: ValueId, twin: ValueId) -> bool {
        if kept == twin || self.same.contains_key(&kept) {
            return false;
        }
        let home = |value: ValueId| match graph.values[value].def {
            Def::Node(node, _) => graph.nodes[node].block,
            _ => None,
        };
        !graph.is_returned(twin) || !graph.is_returned(kept) && home(kept) == home(twin)
    }

    fn resolve(&self, value: Option<ValueId>) -> Option<ValueId> {
        value.map(|v| self.same.get(&v).copied().unwrap_or(v))
    }

    fn fingerprint(&self, node: &Node) -> u64 {
        let mut hash = FxHasher::default();
        (&node.op, &node.domain).hash(&mut hash);
        for input in &node.inputs {
            self.resolve(*input).hash(&mut hash);
        }
        for attribute in &node.attributes {
            attribute.name.hash(&mut hash);
            match &attribute.value {
                Attr::Int(n) => n.hash(&mut hash),
                Attr::Ints(n) => n.hash(&mut hash),
                Attr::Str(text) => text.hash(&mut hash),
                Attr::Tensor(data) => inline(data).hash(&mut hash),
                _ => {}
            }
        }
        hash.finish()
    }

    fn equal(&self, a: &Node, b: &Node) -> bool {
        let inputs = a.inputs.iter().zip(&b.inputs);
        (&a.op, &a.domain) == (&b.op, &b.domain)
            && a.inputs.len() == b.inputs.len()
            && inputs.into_iter().all(|(x, y)| self.resolve(*x) == self.resolve(*y))
            && a.attributes.len() == b.attributes.len()
            && a.attributes
                .iter()
                .zip(&b.attributes)
                .all(|(x, y)| x.name == y.name && same(&x.value, &y.value))
    }
}

/// Whether a node gives the same for the same inputs wherever it stands, and need not stand as often as it does.
fn is_plain(node: &Node) -> bool {
    let kept = Traits::RANDOM.with(Traits::QUANTIZES);
    let known = lookup(&node.domain, &node.op).is_some_and(|op| !op.traits().has_any(kept));
    known && node.blocks().next().is_none()
}

/// Returns the only output of a node that computes sizes, with its type, rank and elements.
fn size(graph: &Graph, node: &Node) -> Option<(ValueId, (DType, usize, ShapeValue))> {
    let [Some(output)] = node.outputs[..] else { return None };
    let elements =
        graph.shape_value(output).filter(|all| all.iter().any(|dim| !matches!(dim, Dim::Const(_))))?;
    let ty = &graph.values[output].ty;
    Some((output, (ty.dtype()?, ty.shape()?.rank()?, elements)))
}

/// The bytes of a small tensor that lies in memory.
fn inline(data: &LazyTensor) -> Option<(DType, &[u64], &[u8])> {
    match (&data.source, &data.strides, data.offset) {
        (Source::Inline(bytes), None, 0) if bytes.len() as u64 <= SMALL_BYTES => {
            Some((data.dtype, &data.shape, bytes))
        }
        _ => None,
    }
}

fn same(a: &Attr, b: &Attr) -> bool {
    match (a, b) {
        (Attr::Int(a), Attr::Int(b)) => a == b,
        (Attr::Ints(a), Attr::Ints(b)) => a == b,
        (Attr::Float(a), Attr::Float(b)) => a.to_bits() == b.to_bits(),
        (Attr::Floats(a), Attr::Floats(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
        }
        (Attr::Str(a), Attr::Str(b)) => a == b,
        (Attr::Strs(a), Attr::Strs(b)) => a == b,
        (Attr::Ref(a, x), Attr::Ref(b, y)) => a == b && x == y,
        (Attr::Tensor(a), Attr::Tensor(b)) => inline(a).is_some_and(|a| inline(b) == Some(a)),
        _ => false,
    }
}
