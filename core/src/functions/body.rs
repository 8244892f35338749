//! The body of a function: a copy of the nodes of a module.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::canonical::Canonical;
use super::links::is_of_main;
use crate::Name;
use crate::ir::{Attr, Attribute, BlockId, Def, Graph, NodeId, Type, ValueId};

/// Returns a graph with the nodes of `form`, whose inputs are the given values with these numbers.
pub(super) fn body(from: &Graph, form: &Canonical, inputs: &[usize], module: &str) -> Graph {
    let mut copier = Copier { from, graph: Graph::default(), values: FxHashMap::default() };
    let main = copier.graph.main();
    let mut taken: FxHashSet<Name> = FxHashSet::default();
    for value in inputs.iter().filter_map(|slot| form.given.get(*slot).copied()) {
        let name = name(from, value, module).filter(|name| taken.insert(name.clone()));
        let input = copier.graph.add_input(main, name, Type::Unknown);
        copier.values.insert(value, input);
    }
    for node in &form.nodes {
        copier.node(*node, main);
    }
    let outputs: Vec<ValueId> = form.outputs.iter().filter_map(|output| copier.value(*output)).collect();
    copier.graph.set_outputs(main, outputs);
    copier.graph
}

/// The name of a parameter or buffer below the module called `module`.
fn name(graph: &Graph, value: ValueId, module: &str) -> Option<Name> {
    let name = graph.values[value].name.as_ref().filter(|_| graph.is_weight(value))?;
    // The names of parameters that became one are joined.
    let below = |part: &'_ str| part.strip_prefix(module)?.strip_prefix('.').map(str::to_owned);
    let below: Vec<String> = name.split('+').map(below).collect::<Option<_>>()?;
    Some(below.join("+").into())
}

struct Copier<'a> {
    from: &'a Graph,
    graph: Graph,
    /// The copies of values.
    values: FxHashMap<ValueId, ValueId>,
}

impl Copier<'_> {
    /// The copy of a value. A constant that is not an input is part of the body.
    fn value(&mut self, value: ValueId) -> Option<ValueId> {
        if let Some(known) = self.values.get(&value) {
            return Some(*known);
        }
        let data = self.from.initializer(value).filter(|_| is_of_main(self.from, value))?;
        let copy = self.graph.add_initializer(None, data.clone());
        self.values.insert(value, copy);
        Some(copy)
    }

    fn node(&mut self, id: NodeId, into: BlockId) {
        let node = &self.from.nodes[id];
        let inputs: SmallVec<[Option<ValueId>; 4]> =
            node.inputs.iter().map(|input| input.and_then(|value| self.value(value))).collect();
        let mut attributes = Vec::with_capacity(node.attributes.len());
        for Attribute { name, value } in &node.attributes {
            let value = match value {
                Attr::Block(block) => Attr::Block(self.block(*block, into)),
                Attr::Blocks(blocks) => {
                    Attr::Blocks(blocks.iter().map(|block| self.block(*block, into)).collect())
                }
                value => value.clone(),
            };
            attributes.push(Attribute { name: name.clone(), value });
        }
        let count = node.outputs.len();
        let made = self.graph.append(into, &node.domain, &node.op, inputs, attributes, count, None);
        self.graph.nodes[made].overload = node.overload.clone();
        for (at, output) in node.outputs.iter().enumerate() {
            match (output, self.graph.nodes[made].outputs.get(at).copied().flatten()) {
                (Some(old), Some(new)) => {
                    if into != self.graph.main() {
                        self.graph.values[new].ty = self.from.values[*old].ty.without_symbols();
                    }
                    self.values.insert(*old, new);
                }
                (None, Some(new)) => {
                    self.graph.values[new].def = Def::Gone;
                    if let Some(slot) = self.graph.nodes[made].outputs.get_mut(at) {
                        *slot = None;
                    }
                }
                _ => {}
            }
        }
    }

    fn block(&mut self, block: BlockId, parent: BlockId) -> BlockId {
        let from = self.from;
        let made = self.graph.add_block(parent);
        for input in &from.blocks[block].inputs {
            let ty = from.values[*input].ty.without_symbols();
            let copy = self.graph.add_input(made, None, ty);
            self.values.insert(*input, copy);
        }
        for constant in from.initializers.iter().filter(|constant| constant.block == block) {
            let copy = self.graph.add_initializer(None, constant.data.clone());
            self.graph.hold_in(copy, made);
            self.values.insert(constant.value, copy);
        }
        for constant in from.literals.iter().filter(|constant| constant.block == block) {
            let copy = self.graph.add_literal(made, None, constant.data.clone());
            self.values.insert(constant.value, copy);
        }
        for node in from.order(block) {
            self.node(node, made);
        }
        let outputs = from.blocks[block].outputs().iter();
        let outputs: Vec<ValueId> = outputs.filter_map(|output| self.value(*output)).collect();
        self.graph.set_outputs(made, outputs);
        made
    }
}
