//! Copies of a stretch of nodes with equal inputs and outputs.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::repeats::Repeat;
use crate::ir::{Def, Graph, NodeId, ValueId};

/// The size in bytes up to which a constant becomes part of the function.
const SMALL: u64 = 1 << 10;

/// The limit on nodes examined to find the best start of copies.
const WORK: usize = 1 << 22;

/// The source of an input of a node in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// An output of a node of the copy: its position, and which output.
    Inside(usize, usize),
    /// A value from outside; equal ones have the same number, in the order in which they are read.
    Outside(usize),
}

/// Stretches of one length that compute the same function of their inputs.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    /// The positions of their first nodes.
    pub starts: Vec<usize>,
    /// The number of nodes in each.
    pub length: usize,
    /// The source of each input of the nodes.
    pub sources: Vec<Source>,
    /// The outside values of each copy.
    pub given: Vec<Vec<ValueId>>,
    /// Which values from outside are arguments.
    pub inputs: Vec<usize>,
    /// Those that are small constants shared by all copies.
    pub constants: Vec<usize>,
    /// The outputs: positions of nodes, and of their outputs.
    pub outputs: Vec<(usize, usize)>,
}

impl Copies {
    /// The nodes of a copy.
    pub(super) fn nodes<'a>(&self, order: &'a [NodeId], copy: usize) -> Option<&'a [NodeId]> {
        let start = *self.starts.get(copy)?;
        order.get(start..start.checked_add(self.length)?)
    }

    /// Returns the number of values that cross the border of a copy.
    fn border(&self) -> usize {
        self.inputs.len() + self.outputs.len()
    }
}

/// Returns the copies in a repeat, in runs of equal ones; they begin where the fewest values cross a border.
pub(super) fn all(graph: &Graph, order: &[NodeId], repeat: &Repeat) -> Vec<Copies> {
    let Repeat { range, period } = repeat;
    let places: FxHashMap<NodeId, usize> = order.iter().enumerate().map(|(at, node)| (*node, at)).collect();
    let phases = (WORK / range.len().max(1)).clamp(1, *period);
    let mut best: Option<(usize, usize, Vec<Copies>)> = None;
    for phase in 0..phases {
        let found = runs(graph, order, &places, range.start + phase..range.end, *period);
        let saved: usize = found.iter().map(|copies| (copies.starts.len() - 1) * period).sum();
        let border: usize = found.iter().map(Copies::border).sum();
        let is_better = |(most, least, _): &(usize, usize, Vec<Copies>)| {
            saved > *most || saved == *most && border < *least
        };
        if !found.is_empty() && best.as_ref().is_none_or(is_better) {
            best = Some((saved, border, found));
        }
    }
    best.map(|(_, _, found)| found).unwrap_or_default()
}

/// The runs of equal copies, from the start of `range` on.
fn runs(
    graph: &Graph,
    order: &[NodeId],
    places: &FxHashMap<NodeId, usize>,
    range: Range<usize>,
    length: usize,
) -> Vec<Copies> {
    let mut found: Vec<Copies> = Vec::new();
    let mut run: Option<Copies> = None;
    let mut start = range.start;
    while start + length <= range.end {
        let Some(nodes) = order.get(start..start + length) else { break };
        let (sources, given) = read(graph, places, nodes, start);
        match &mut run {
            Some(run) if run.sources == sources => {
                run.starts.push(start);
                run.given.push(given);
            }
            _ => {
                let new = Copies {
                    starts: vec![start],
                    length,
                    sources,
                    given: vec![given],
                    inputs: Vec::new(),
                    constants: Vec::new(),
                    outputs: Vec::new(),
                };
                found.extend(run.replace(new));
            }
        }
        start += length;
    }
    found.extend(run);
    found.retain(|copies| copies.starts.len() > 1);
    for copies in &mut found {
        borders(graph, order, copies);
    }
    found
}

/// Determines the sources of the nodes' inputs, and the outside values.
fn read(
    graph: &Graph,
    places: &FxHashMap<NodeId, usize>,
    nodes: &[NodeId],
    start: usize,
) -> (Vec<Source>, Vec<ValueId>) {
    let (mut sources, mut given) = (Vec::new(), Vec::new());
    let mut numbers: FxHashMap<ValueId, usize> = FxHashMap::default();
    for value in nodes.iter().flat_map(|node| graph.nodes[*node].inputs.iter().flatten()) {
        let maker = match graph.values[*value].def {
            Def::Node(node, output) => places.get(&node).map(|at| (*at, output as usize)),
            _ => None,
        };
        sources.push(match maker.filter(|(at, _)| *at >= start) {
            Some((at, output)) => Source::Inside(at - start, output),
            None => Source::Outside(*numbers.entry(*value).or_insert_with(|| {
                given.push(*value);
                given.len() - 1
            })),
        });
    }
    (sources, given)
}

/// Determines the inputs and outputs of the copies.
fn borders(graph: &Graph, order: &[NodeId], copies: &mut Copies) {
    let slots = copies.given.first().map_or(0, Vec::len);
    for slot in 0..slots {
        let mut values = copies.given.iter().map(|given| given.get(slot));
        let first = values.next().flatten();
        let is_constant = first.is_some_and(|value| {
            let data = graph.initializer(*value).filter(|_| !graph.is_weight(*value));
            data.is_some_and(|data| data.unbound().is_none() && data.byte_len().is_some_and(|n| n <= SMALL))
        });
        if is_constant && values.all(|value| value == first) {
            copies.constants.push(slot);
        } else {
            copies.inputs.push(slot);
        }
    }
    let mut outputs: Vec<(usize, usize)> = Vec::new();
    for copy in 0..copies.starts.len() {
        let Some(nodes) = copies.nodes(order, copy) else { continue };
        let inside: FxHashSet<NodeId> = nodes.iter().copied().collect();
        for (at, node) in nodes.iter().enumerate() {
            for (index, output) in graph.nodes[*node].outputs.iter().enumerate() {
                let leaves = output.is_some_and(|value| {
                    let uses = graph.values[value].uses();
                    graph.is_returned(value) || uses.iter().any(|place| !inside.contains(&place.node))
                });
                if leaves {
                    outputs.push((at, index));
                }
            }
        }
    }
    outputs.sort_unstable();
    outputs.dedup();
    copies.outputs = outputs;
}
