//! Pairs nodes by their inputs and by their readers.

use std::collections::VecDeque;

use super::align::{Alignment, How, maker};
use crate::ir::{Def, Graph, Model, Node, NodeId, ValueId};
use crate::tensor::LazyTensor;

/// Constants of more bytes are not the same unless their names are.
const SMALL: u64 = 4096;

/// The number of readers of a value to examine: among thousands, the right one cannot be found this way.
const MOST: usize = 64;

/// Two models whose nodes are paired along their edges.
pub(super) struct Structure<'m> {
    a: &'m Graph,
    b: &'m Graph,
}

impl<'m> Structure<'m> {
    pub(super) fn new(a: &'m Model, b: &'m Model) -> Self {
        Self { a: &a.graph, b: &b.graph }
    }

    /// Pairs the remaining nodes. From each pair it goes backward to the inputs, and forward to the readers.
    pub(super) fn pair(&self, found: &mut Alignment) {
        let mut pending: VecDeque<NodeId> =
            self.a.order(self.a.main()).filter(|node| found.node(*node).is_some()).collect();
        let outputs = self.a.blocks[self.a.main()].outputs();
        for (ours, theirs) in outputs.iter().zip(self.b.blocks[self.b.main()].outputs()) {
            self.makers(found, *ours, *theirs, &mut pending);
        }
        while let Some(node) = pending.pop_front() {
            let Some(other) = found.node(node) else { continue };
            let (ours, theirs) = (&self.a.nodes[node].inputs, &self.b.nodes[other].inputs);
            if ours.len() != theirs.len() {
                continue;
            }
            for (ours, theirs) in ours.iter().zip(theirs) {
                if let (Some(ours), Some(theirs)) = (ours, theirs) {
                    self.makers(found, *ours, *theirs, &mut pending);
                }
            }
        }
        for node in self.a.order(self.a.main()) {
            if found.node(node).is_none()
                && let Some(other) = self.reader_of_the_same(found, node)
            {
                found.pair((self.a, node), (self.b, other), How::Structure);
            }
        }
    }

    /// Pairs the nodes that compute two corresponding inputs.
    fn makers(&self, found: &mut Alignment, ours: ValueId, theirs: ValueId, pending: &mut VecDeque<NodeId>) {
        let (Some(a), Some(b)) = (maker(self.a, ours), maker(self.b, theirs)) else { return };
        let is_same_place = place(self.a, ours) == place(self.b, theirs);
        let fits = is_same_place && alike(&self.a.nodes[a], &self.b.nodes[b]);
        if fits && found.pair((self.a, a), (self.b, b), How::Structure) {
            pending.push_back(a);
        }
    }

    /// Returns the only unpaired node with the same operation on the same values.
    fn reader_of_the_same(&self, found: &Alignment, node: NodeId) -> Option<NodeId> {
        let data = &self.a.nodes[node];
        let first = data.inputs.iter().flatten().find_map(|value| found.value(*value))?;
        let mut fitting = self.b.values[first].uses().iter().take(MOST).map(|u| u.node).filter(|other| {
            let theirs = &self.b.nodes[*other];
            !found.has(*other)
                && theirs.block == Some(self.b.main())
                && alike(data, theirs)
                && self.reads_the_same(found, data, theirs)
        });
        let only = fitting.next()?;
        fitting.all(|other| other == only).then_some(only)
    }

    fn reads_the_same(&self, found: &Alignment, a: &Node, b: &Node) -> bool {
        a.inputs.iter().zip(&b.inputs).all(|pair| match pair {
            (Some(ours), Some(theirs)) => {
                found.value(*ours) == Some(*theirs) || equal(self.a, *ours, self.b, *theirs)
            }
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        })
    }
}

/// Whether two nodes are of one operator with as many inputs and results.
fn alike(a: &Node, b: &Node) -> bool {
    (&a.domain, &a.op, a.inputs.len(), a.outputs.len()) == (&b.domain, &b.op, b.inputs.len(), b.outputs.len())
}

/// Which of the results of its node a value is.
fn place(graph: &Graph, value: ValueId) -> Option<u32> {
    match graph.values[value].def {
        Def::Node(_, place) => Some(place),
        _ => None,
    }
}

/// Whether two values are small constants of the same elements.
fn equal(a: &Graph, ours: ValueId, b: &Graph, theirs: ValueId) -> bool {
    let (Some(ours), Some(theirs)) = (a.initializer(ours), b.initializer(theirs)) else { return false };
    ours.byte_len().is_some_and(|len| len <= SMALL) && same(ours, theirs)
}

/// Whether two tensors have the same type and elements.
pub(super) fn same(a: &LazyTensor, b: &LazyTensor) -> bool {
    if (a.dtype, &a.shape) != (b.dtype, &b.shape) {
        return false;
    }
    match (a.read(), b.read()) {
        (Some(ours), Some(theirs)) => ours == theirs,
        (None, None) => true,
        _ => false,
    }
}
