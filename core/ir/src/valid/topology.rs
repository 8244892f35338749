//! Every use follows its definition, within scope, and the tables are consistent.

use rustc_hash::FxHashMap;

use super::{Cx, describe};
use crate::ir::{BlockId, Def, Graph, NodeId, ValueId};

/// Checks `graph`; returns whether its structure is sound.
pub(super) fn check(cx: &mut Cx<'_>, graph: &Graph) -> bool {
    let before = cx.found.len();
    let mut constants: FxHashMap<BlockId, Vec<(ValueId, Def)>> = FxHashMap::default();
    for (index, initializer) in graph.initializers.iter().enumerate() {
        let constant = (initializer.value, Def::Initializer(index as u32));
        constants.entry(initializer.block).or_default().push(constant);
    }
    for (index, literal) in graph.literals.iter().enumerate() {
        constants.entry(literal.block).or_default().push((literal.value, Def::Literal(index as u32)));
    }
    let mut walk = Walk {
        cx,
        graph,
        constants,
        visible: vec![false; graph.values.len()],
        visited: vec![false; graph.nodes.len()],
        entered: vec![false; graph.blocks.len()],
    };
    walk.block(graph.main());
    let visited = walk.visited;
    uses(cx, graph, &visited);
    cx.found.len() == before
}

struct Walk<'a, 'b> {
    cx: &'a mut Cx<'b>,
    graph: &'a Graph,
    /// By the block that holds them.
    constants: FxHashMap<BlockId, Vec<(ValueId, Def)>>,
    visible: Vec<bool>,
    visited: Vec<bool>,
    entered: Vec<bool>,
}

impl Walk<'_, '_> {
    fn define(&mut self, value: ValueId, def: Def) {
        let Some(info) = self.graph.values.find(value) else {
            return self.cx.report(format!("value {value:?} does not exist"));
        };
        if info.def != def {
            let name = describe(self.graph, value);
            self.cx.report(format!("{name} is defined by {def:?} but records {:?}", info.def));
        }
        if set(&mut self.visible, value.index(), true) {
            self.cx.report(format!("{} is defined twice", describe(self.graph, value)));
        }
    }

    fn block(&mut self, block: BlockId) {
        let graph = self.graph;
        if set(&mut self.entered, block.index(), true) {
            return self.cx.report("a block is the body of two nodes");
        }
        let mut defined: Vec<ValueId> = graph.blocks[block].inputs.clone();
        for (value, def) in self.constants.remove(&block).unwrap_or_default() {
            self.define(value, def);
            defined.push(value);
        }
        for (index, value) in graph.blocks[block].inputs.iter().enumerate() {
            self.define(*value, Def::Input(block, index as u32));
        }
        for node in graph.order(block) {
            if set(&mut self.visited, node.index(), true) {
                return self.cx.at(graph, node, "occurs twice in the order of nodes");
            }
            self.node(block, node, &mut defined);
        }
        for value in graph.blocks[block].outputs() {
            if !self.sees(*value) {
                let name = describe(graph, *value);
                self.cx.report(format!("the output {name} of a block is not defined where it is returned"));
            }
        }
        if block != graph.main() {
            for value in defined {
                set(&mut self.visible, value.index(), false);
            }
        }
    }

    fn node(&mut self, block: BlockId, node: NodeId, defined: &mut Vec<ValueId>) {
        let graph = self.graph;
        let data = &graph.nodes[node];
        if data.block != Some(block) {
            self.cx.at(graph, node, "is in a block that it does not record");
        }
        for (index, value) in data.inputs.iter().enumerate() {
            let Some(value) = value else { continue };
            if !self.sees(*value) {
                let why = match graph.values.find(*value).map(|v| v.def) {
                    Some(Def::Gone) => "whose definition was removed",
                    Some(_) => "which is not defined there",
                    None => "which does not exist",
                };
                let message = format!("input {index} is {}, {why}", describe(graph, *value));
                self.cx.at(graph, node, &message);
            }
        }
        for inner in data.blocks() {
            match graph.blocks.find(inner) {
                Some(body) if body.parent == Some(block) => self.block(inner),
                Some(_) => self.cx.at(graph, node, "has a body that records another parent"),
                None => self.cx.at(graph, node, "has a body that does not exist"),
            }
        }
        for (index, value) in data.outputs.iter().enumerate() {
            if let Some(value) = value {
                self.define(*value, Def::Node(node, index as u32));
                defined.push(*value);
            }
        }
    }

    fn sees(&self, value: ValueId) -> bool {
        self.visible.get(value.index()).copied().unwrap_or(false)
    }
}

/// Sets entry `at` of a table, and returns the previous value.
fn set(table: &mut [bool], at: usize, to: bool) -> bool {
    table.get_mut(at).is_some_and(|slot| std::mem::replace(slot, to))
}

/// The lists of uses name exactly the inputs of the nodes in the graph.
fn uses(cx: &mut Cx<'_>, graph: &Graph, visited: &[bool]) {
    let mut counts = vec![0usize; graph.values.len()];
    for node in graph.nodes.ids() {
        let data = &graph.nodes[node];
        let is_visited = visited.get(node.index()).is_some_and(|seen| *seen);
        if data.block.is_some() != is_visited {
            cx.at(graph, node, "is in a block but not in its order");
        }
        if is_visited {
            for value in data.inputs.iter().flatten() {
                if let Some(count) = counts.get_mut(value.index()) {
                    *count += 1;
                }
            }
        }
    }
    for ((value, info), real) in graph.values.iter().zip(counts) {
        let stale = info.uses().iter().any(|place| {
            graph
                .nodes
                .find(place.node)
                .is_none_or(|n| n.inputs.get(place.index as usize) != Some(&Some(value)))
        });
        let listed = info.uses().len();
        if stale || listed != real {
            cx.report(format!("{} lists {listed} uses and has {real}", describe(graph, value)));
        }
    }
}
