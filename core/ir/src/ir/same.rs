//! Equality of functions up to names, types and origins.

use rustc_hash::FxHashMap;

use super::{Attr, BlockId, Function, Graph, NodeId, ValueId};
use crate::tensor::LazyTensor;

impl Function {
    /// Whether `other` has the same domain, name and attributes, and computes the same in the same way:
    /// nodes in the same order, equal attributes, constants of equal bytes.
    pub fn same(&self, other: &Self) -> bool {
        let mut pairs = Pairs { a: &self.graph, b: &other.graph, values: FxHashMap::default() };
        self.domain == other.domain
            && self.name == other.name
            && self.attributes == other.attributes
            && pairs.initializers()
            && pairs.block(self.graph.main(), other.graph.main())
    }
}

/// Two graphs side by side.
struct Pairs<'a> {
    a: &'a Graph,
    b: &'a Graph,
    /// The value of `b` that stands where one of `a` does.
    values: FxHashMap<ValueId, ValueId>,
}

impl Pairs<'_> {
    fn initializers(&mut self) -> bool {
        let (a, b) = (&self.a.initializers, &self.b.initializers);
        a.len() == b.len()
            && a.iter().zip(b).all(|(x, y)| {
                self.values.insert(x.value, y.value);
                same_data(&x.data, &y.data)
            })
    }

    fn block(&mut self, a: BlockId, b: BlockId) -> bool {
        let (left, right) = (self.a, self.b);
        let (x, y) = (&left.blocks[a], &right.blocks[b]);
        if x.inputs.len() != y.inputs.len() || x.outputs.len() != y.outputs.len() {
            return false;
        }
        self.values.extend(x.inputs.iter().copied().zip(y.inputs.iter().copied()));
        let nodes: Vec<(NodeId, NodeId)> = left.order(a).zip(right.order(b)).collect();
        nodes.len() == left.order(a).count()
            && nodes.len() == right.order(b).count()
            && nodes.into_iter().all(|(x, y)| self.node(x, y))
            && x.outputs.iter().zip(&y.outputs).all(|(x, y)| self.values.get(x) == Some(y))
    }

    fn node(&mut self, a: NodeId, b: NodeId) -> bool {
        let (x, y) = (&self.a.nodes[a], &self.b.nodes[b]);
        let equal = (&x.domain, &x.op) == (&y.domain, &y.op)
            && x.inputs.len() == y.inputs.len()
            && x.outputs.len() == y.outputs.len()
            && x.attributes.len() == y.attributes.len()
            && x.inputs.iter().zip(&y.inputs).all(|pair| match pair {
                (None, None) => true,
                (Some(x), Some(y)) => self.values.get(x) == Some(y),
                _ => false,
            });
        if !equal {
            return false;
        }
        for (x, y) in x.attributes.iter().zip(&y.attributes) {
            if x.name != y.name || !self.attribute(&x.value, &y.value) {
                return false;
            }
        }
        x.outputs.iter().zip(&y.outputs).all(|pair| match pair {
            (None, None) => true,
            (Some(x), Some(y)) => {
                self.values.insert(*x, *y);
                true
            }
            _ => false,
        })
    }

    fn attribute(&mut self, a: &Attr, b: &Attr) -> bool {
        let bits = |items: &[f32]| items.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        match (a, b) {
            (Attr::Int(x), Attr::Int(y)) => x == y,
            (Attr::Float(x), Attr::Float(y)) => x.to_bits() == y.to_bits(),
            (Attr::Str(x), Attr::Str(y)) => x == y,
            (Attr::Ref(x, kind), Attr::Ref(y, other)) => x == y && kind == other,
            (Attr::Ints(x), Attr::Ints(y)) => x == y,
            (Attr::Floats(x), Attr::Floats(y)) => bits(x) == bits(y),
            (Attr::Strs(x), Attr::Strs(y)) => x == y,
            (Attr::Tensor(x), Attr::Tensor(y)) => same_data(x, y),
            (Attr::Block(x), Attr::Block(y)) => self.block(*x, *y),
            _ => false,
        }
    }
}

fn same_data(a: &LazyTensor, b: &LazyTensor) -> bool {
    if a.dtype != b.dtype || a.shape != b.shape {
        return false;
    }
    match (a.read(), b.read()) {
        (Some(x), Some(y)) => x == y,
        _ => false,
    }
}
