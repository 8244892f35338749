//! The nodes of a module, which can be replaced by one node if no path leaves them and comes back.

use rustc_hash::FxHashSet;

use super::links::Links;
use super::owners::{CallId, Owners};
use crate::ir::{Def, Graph, NodeId, ValueId};

/// How often nodes on paths that come back are added.
const ROUNDS: usize = 8;

/// The nodes of a module.
#[derive(Debug)]
pub(super) struct Region {
    nodes: FxHashSet<NodeId>,
    first: NodeId,
    last: NodeId,
}

/// Paths that leave a region and come back.
struct Broken {
    /// The nodes on these paths, in order; never empty.
    nodes: Vec<NodeId>,
    /// One of them.
    one: NodeId,
}

impl Region {
    /// Returns the region of `nodes`, which belong to `call` and are in order; `None` if there are none. Nodes on paths that
    /// come back join it, unless another module owns one of them.
    ///
    /// # Errors
    /// A node of another module on a path that comes back.
    pub(super) fn around(
        graph: &Graph,
        links: &Links,
        owners: &Owners,
        call: CallId,
        nodes: Vec<NodeId>,
    ) -> Option<Result<Self, NodeId>> {
        let (first, last) = (nodes.first().copied()?, nodes.last().copied()?);
        let mut region = Self { nodes: nodes.into_iter().collect(), first, last };
        for round in 0.. {
            let Err(broken) = region.paths(graph, links) else { break };
            let foreign = broken.nodes.iter().find(|node| !owners.may_join(**node, call));
            if let Some(foreign) = foreign {
                return Some(Err(*foreign));
            }
            if round == ROUNDS {
                return Some(Err(broken.one));
            }
            // They are between the first and the last node.
            region.nodes.extend(broken.nodes);
        }
        Some(Ok(region))
    }

    /// The number of nodes.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn has(&self, node: NodeId) -> bool {
        self.nodes.contains(&node)
    }

    /// Checks that the nodes are all there, and that no path leaves and comes back.
    ///
    /// # Errors
    /// A node on such a path.
    pub(super) fn check(&mut self, graph: &Graph, links: &Links) -> Result<(), NodeId> {
        let main = Some(graph.main());
        if let Some(gone) = self.nodes.iter().filter(|node| graph.nodes[**node].block != main).min() {
            return Err(*gone);
        }
        // Other calls may have moved them.
        for node in &self.nodes {
            if graph.is_before(*node, self.first) {
                self.first = *node;
            }
            if graph.is_before(self.last, *node) {
                self.last = *node;
            }
        }
        self.paths(graph, links).map(|_| ()).map_err(|broken| broken.one)
    }

    /// Moves the nodes between those of the region that do not depend on it to before it. Afterwards, a node in the
    /// place of the first one follows its inputs and precedes its readers.
    pub(super) fn gather(&self, graph: &mut Graph, links: &Links) -> NodeId {
        for node in self.paths(graph, links).unwrap_or_default() {
            graph.move_before(node, self.first);
        }
        self.first
    }

    /// The nodes, in order.
    pub(super) fn ordered(&self, graph: &Graph) -> Vec<NodeId> {
        self.span(graph).filter(|node| self.has(*node)).collect()
    }

    fn span<'a>(&'a self, graph: &'a Graph) -> impl Iterator<Item = NodeId> + 'a {
        std::iter::successors(
            Some(self.first),
            |node| if *node == self.last { None } else { graph.next(*node) },
        )
    }

    /// Returns the outside nodes between those of the region that do not depend on it.
    fn paths(&self, graph: &Graph, links: &Links) -> Result<Vec<NodeId>, Broken> {
        let (mut before, mut after) = (Vec::new(), FxHashSet::default());
        let mut one: Option<NodeId> = None;
        let maker = |value: ValueId| match graph.values[value].def {
            Def::Node(maker, _) => Some(maker),
            _ => None,
        };
        for node in self.span(graph) {
            let mut makers = links.reads(graph, node).filter_map(maker);
            if self.has(node) {
                one = one.or(makers.find(|maker| after.contains(maker)));
            } else if makers.any(|maker| self.has(maker) || after.contains(&maker)) {
                after.insert(node);
            } else {
                before.push(node);
            }
        }
        let Some(one) = one else { return Ok(before) };
        let mut back: FxHashSet<NodeId> = FxHashSet::default();
        let all: Vec<NodeId> = self.span(graph).filter(|node| after.contains(node)).collect();
        for node in all.iter().rev() {
            let outputs = graph.nodes[*node].outputs.iter().flatten();
            let mut readers = outputs.flat_map(|output| links.readers(graph, *output));
            if readers.any(|reader| self.has(reader) || back.contains(&reader)) {
                back.insert(*node);
            }
        }
        Err(Broken { nodes: all.into_iter().filter(|node| back.contains(node)).collect(), one })
    }
}
