//! Patterns with several roots: where to look for them, the nodes between them, and the position of the patch.

use std::cmp::Ordering;

use super::{Goal, Goals, Next, Search};
use crate::ir::{BlockId, Graph, NodeId, ValueId};
use crate::optimise::mismatch::Why;
use crate::rules::pattern::{Kind, TermId};

/// The number of readers of a value up to which they are searched for a further root.
const MAX_READERS: usize = 64;

impl Search<'_> {
    /// Matches a further root: an omitted node of the match, or a node that reads a bound value.
    pub(super) fn further_root(&mut self, number: usize, rest: Option<Goals>) -> Result<Next, Why> {
        let Some(term) = self.pattern.roots.get(number).copied() else { return Ok(Next::Go(rest)) };
        if self.node_of(term).is_some() {
            return Ok(Next::Go(rest));
        }
        let block = self.graph.nodes[self.first].block;
        let mut found = self.above(term);
        found.retain(|node| self.graph.nodes[*node].block == block && !self.nodes.contains(&Some(*node)));
        found.sort_by(|a, b| if self.graph.is_before(*a, *b) { Ordering::Less } else { Ordering::Greater });
        found.dedup();
        if found.is_empty() {
            return Err(Why::NoRoot(term));
        }
        let ways = found.into_iter().map(|node| self.push(Goal::Is(term, node), rest)).collect();
        Ok(self.any(ways))
    }

    /// Returns the candidates for `term`, derived from one bound term below it.
    pub(super) fn above(&self, term: TermId) -> Vec<NodeId> {
        let readers = |value: ValueId| -> Vec<NodeId> {
            let uses = self.graph.values[value].uses();
            if uses.len() > MAX_READERS { Vec::new() } else { uses.iter().map(|place| place.node).collect() }
        };
        let Some(Kind::Node(node)) = self.pattern.terms.get(term).map(|term| &term.kind) else {
            return Vec::new();
        };
        for operand in &node.operands {
            if let Some(value) = self.value_of(*operand) {
                return readers(value);
            }
            let below = self.above(*operand);
            if !below.is_empty() {
                let outputs = below.iter().flat_map(|node| self.graph.nodes[*node].outputs.iter().flatten());
                return outputs.flat_map(|value| readers(*value)).collect();
            }
        }
        Vec::new()
    }

    /// Returns the value bound to a term, except for constants and numbers, which many nodes share.
    pub(super) fn value_of(&self, term: TermId) -> Option<ValueId> {
        match self.pattern.terms.get(term).map(|term| &term.kind)? {
            Kind::Value(variable) => self.values.get(*variable).copied().flatten().flatten(),
            Kind::Node(node) => {
                let id = self.nodes.get(term).copied().flatten()?;
                self.graph.nodes[id].outputs.get(node.output as usize).copied().flatten()
            }
            Kind::Output(of, output) => {
                let id = self.node_of(*of)?;
                self.graph.nodes[id].outputs.get(*output as usize).copied().flatten()
            }
            Kind::Either(_) => self.chosen.get(term).copied().flatten(),
            _ => None,
        }
    }

    /// Returns the node bound to a term, through alternatives.
    pub(super) fn node_of(&self, term: TermId) -> Option<NodeId> {
        match self.pattern.terms.get(term).map(|term| &term.kind)? {
            Kind::Node(_) => self.nodes.get(term).copied().flatten(),
            Kind::Output(of, _) => self.node_of(*of),
            Kind::Either(terms) => terms.iter().find_map(|term| self.node_of(*term)),
            _ => None,
        }
    }

    pub(super) fn roots(&self) -> Vec<NodeId> {
        self.pattern.roots.iter().filter_map(|term| self.node_of(*term)).collect()
    }

    /// Checks that no node outside the match reads a value inside it.
    pub(super) fn interior(&mut self) -> Result<(), Why> {
        let (pattern, graph) = (self.pattern, self.graph);
        let roots = self.roots();
        for (term, id) in self.nodes.iter().enumerate() {
            let Some(id) = id.filter(|id| !roots.contains(id)) else { continue };
            match pattern.terms.get(term).map(|term| &term.kind) {
                Some(Kind::Node(node)) if !node.shared => {}
                _ => continue,
            }
            let node = &graph.nodes[id];
            if node.block != graph.nodes[self.first].block {
                return Err(Why::OtherBlock(term));
            }
            for value in node.outputs.iter().flatten() {
                let mut uses = graph.values[*value].uses().iter();
                if graph.is_returned(*value) || uses.any(|u| !self.nodes.contains(&Some(u.node))) {
                    return Err(Why::Used(term, *value));
                }
            }
            self.depth += 1;
        }
        Ok(())
    }

    /// Returns the root before which the patch sees all its inputs, and all readers of its results come later.
    pub(super) fn find_place(&self) -> Result<NodeId, Why> {
        let graph = self.graph;
        let mut roots = self.roots();
        if roots.len() < 2 {
            return Ok(self.first);
        }
        let block = graph.nodes[self.first].block;
        if roots.iter().any(|root| graph.nodes[*root].block != block) {
            return Err(Why::NoPlace);
        }
        roots.sort_by(|a, b| if graph.is_before(*a, *b) { Ordering::Less } else { Ordering::Greater });
        let (Some(first), Some(last)) = (roots.first().copied(), roots.last().copied()) else {
            return Err(Why::NoPlace);
        };
        if self.values.iter().copied().flatten().flatten().all(|value| graph.sees(first, value)) {
            return Ok(first);
        }
        let late = |value: &ValueId| {
            let uses = graph.values[*value].uses().iter();
            uses.filter(|place| !self.nodes.contains(&Some(place.node)))
                .all(|place| lift(graph, place.node, block).is_some_and(|node| graph.is_before(last, node)))
        };
        let made = roots.iter().flat_map(|root| graph.nodes[*root].outputs.iter().flatten());
        if made.into_iter().all(late) { Ok(last) } else { Err(Why::NoPlace) }
    }
}

/// Returns the node of `block` that is `node` or contains it in a body.
fn lift(graph: &Graph, mut node: NodeId, block: Option<BlockId>) -> Option<NodeId> {
    while graph.nodes[node].block != block {
        node = graph.holder(graph.nodes[node].block?)?;
    }
    Some(node)
}
