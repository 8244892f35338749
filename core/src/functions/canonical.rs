//! The canonical form of a region: equal texts mean that one function computes both regions.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::links::Links;
use super::region::Region;
use crate::ir::{Attr, BlockId, Def, Graph, Node, NodeId, ValueId};
use crate::tensor::{Kind, LazyTensor, Source};

/// The size in bytes up to which a constant can become part of a function.
const SMALL: usize = 1 << 10;

/// A region in canonical form.
#[derive(Debug)]
pub(super) struct Canonical {
    /// The nodes, attributes and sources of inputs. Small integer constants, such as shapes and axes, are part of it.
    pub text: String,
    /// The nodes, each after those that it reads; equal positions in equal regions.
    pub nodes: Vec<NodeId>,
    /// The values from outside, in the order of the text.
    pub given: Vec<ValueId>,
    /// The values that are read outside, or returned.
    pub outputs: Vec<ValueId>,
}

impl Canonical {
    pub(super) fn from_region(graph: &Graph, links: &Links, region: &Region) -> Self {
        let outputs = outputs(graph, links, region);
        let nodes = order(graph, links, region, &outputs);
        let mut text = Text {
            graph,
            links,
            text: String::new(),
            made: FxHashMap::default(),
            given: Vec::new(),
            slots: FxHashMap::default(),
        };
        for node in &nodes {
            text.node(*node);
        }
        for output in &outputs {
            text.value(*output);
        }
        Self { text: text.text, nodes, given: text.given, outputs }
    }
}

/// The values of the region that are read outside, or returned, in the order of their nodes.
fn outputs(graph: &Graph, links: &Links, region: &Region) -> Vec<ValueId> {
    let ordered = region.ordered(graph);
    let made = ordered.iter().flat_map(|node| graph.nodes[*node].outputs.iter().flatten().copied());
    let leaves = |value: &ValueId| {
        links.is_returned(*value) || links.readers(graph, *value).any(|reader| !region.has(reader))
    };
    made.filter(leaves).collect()
}

/// The nodes that the outputs need, depth first.
fn order(graph: &Graph, links: &Links, region: &Region, outputs: &[ValueId]) -> Vec<NodeId> {
    let maker = |value: ValueId| match graph.values[value].def {
        Def::Node(node, _) if region.has(node) => Some(node),
        _ => None,
    };
    let mut order = Vec::with_capacity(region.len());
    let mut entered: FxHashMap<NodeId, bool> = FxHashMap::default();
    let mut stack: Vec<NodeId> = outputs.iter().rev().filter_map(|output| maker(*output)).collect();
    while let Some(node) = stack.last().copied() {
        match entered.get(&node) {
            None => {
                entered.insert(node, false);
                let makers: Vec<NodeId> = links.reads(graph, node).filter_map(maker).collect();
                stack.extend(makers.into_iter().rev().filter(|maker| !entered.contains_key(maker)));
            }
            Some(false) => {
                entered.insert(node, true);
                order.push(node);
                stack.pop();
            }
            Some(true) => {
                stack.pop();
            }
        }
    }
    order
}

/// The bytes of a small constant in memory.
pub(super) fn small(data: &LazyTensor) -> Option<&[u8]> {
    match (&data.source, &data.strides, data.offset) {
        (Source::Inline(bytes), None, 0) if bytes.len() <= SMALL => Some(bytes),
        _ => None,
    }
}

/// The data of a small constant that is not a parameter or a buffer.
pub(super) fn constant(graph: &Graph, value: ValueId) -> Option<&LazyTensor> {
    graph.initializer(value).filter(|data| !graph.is_weight(value) && small(data).is_some())
}

struct Text<'a> {
    graph: &'a Graph,
    links: &'a Links,
    text: String,
    /// The numbers of values that are made inside.
    made: FxHashMap<ValueId, usize>,
    given: Vec<ValueId>,
    slots: FxHashMap<ValueId, usize>,
}

// Writing to a String cannot fail.
impl Text<'_> {
    fn define(&mut self, value: ValueId) {
        let next = self.made.len();
        self.made.insert(value, next);
    }

    /// Writes where a value comes from.
    fn value(&mut self, value: ValueId) {
        if let Some(number) = self.made.get(&value) {
            let _ = write!(self.text, "%{number} ");
            return;
        }
        let fixed = constant(self.graph, value).filter(|data| data.dtype.kind() != Kind::Float);
        if let Some((data, bytes)) = fixed.and_then(|data| Some((data, small(data)?))) {
            self.tensor(data, bytes);
            return;
        }
        let given = &mut self.given;
        let slot = *self.slots.entry(value).or_insert_with(|| {
            given.push(value);
            given.len() - 1
        });
        let _ = write!(self.text, "${slot} ");
    }

    fn tensor(&mut self, data: &LazyTensor, bytes: &[u8]) {
        let _ = write!(self.text, "{} {:?} {bytes:?} ", data.dtype, data.shape);
    }

    /// Writes something that is equal to nothing else.
    fn unique(&mut self, kind: &str, index: usize) {
        let _ = write!(self.text, "!{kind}{index} ");
    }

    fn node(&mut self, id: NodeId) {
        let graph = self.graph;
        let Node { domain, op, overload, attributes, inputs, outputs, .. } = &graph.nodes[id];
        let _ = write!(self.text, "\n{domain} {op} {overload} ");
        for input in inputs {
            match input {
                Some(value) => self.value(*value),
                None => self.text.push_str("_ "),
            }
        }
        for attribute in attributes {
            let _ = write!(self.text, "{}=", attribute.name);
            self.attribute(id, &attribute.value);
        }
        for output in outputs {
            self.text.push(if output.is_some() { '>' } else { '_' });
        }
        for output in outputs.iter().flatten() {
            self.define(*output);
        }
    }

    fn attribute(&mut self, node: NodeId, value: &Attr) {
        let _ = match value {
            Attr::Int(_) | Attr::Ints(_) | Attr::Str(_) | Attr::Strs(_) => write!(self.text, "{value:?} "),
            Attr::Float(number) => write!(self.text, "{:x} ", number.to_bits()),
            Attr::Floats(numbers) => {
                write!(self.text, "{:?} ", numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>())
            }
            Attr::Tensor(data) => {
                match small(data) {
                    Some(bytes) => self.tensor(data, bytes),
                    None => self.unique("node", node.index()),
                }
                Ok(())
            }
            Attr::Block(block) => {
                self.block(*block);
                Ok(())
            }
            Attr::Blocks(blocks) => {
                for block in blocks {
                    self.block(*block);
                }
                Ok(())
            }
            _ => {
                self.unique("node", node.index());
                Ok(())
            }
        };
    }

    fn block(&mut self, block: BlockId) {
        let graph = self.graph;
        self.text.push('{');
        for input in &graph.blocks[block].inputs {
            let _ = write!(self.text, "{:?} ", graph.values[*input].ty.without_symbols());
            self.define(*input);
        }
        for held in self.links.held(block) {
            match graph.initializer(*held).and_then(|data| Some((data, small(data)?))) {
                Some((data, bytes)) => self.tensor(data, bytes),
                None => self.unique("value", held.index()),
            }
            self.define(*held);
        }
        for node in graph.order(block) {
            self.node(node);
        }
        for output in graph.blocks[block].outputs() {
            self.value(*output);
            let _ = write!(self.text, "{:?} ", graph.values[*output].ty.without_symbols());
        }
        self.text.push('}');
    }
}
