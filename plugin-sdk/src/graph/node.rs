//! Nodes.

use crate::lent::Lent;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use onnxport_abi::{RSlice, RStr, Traits};

use super::{Attribute, BlockRef, GraphView, ValueRef};
use crate::abi::graph::{NOTHING, NodeView};
use crate::abi::status;
use crate::op::Operator;

/// A node of a graph.
#[derive(Clone, Copy)]
pub struct NodeRef<'h> {
    pub(super) graph: GraphView<'h>,
    pub(super) id: u64,
}

impl<'h> NodeRef<'h> {
    /// The id as it crosses.
    pub fn id(self) -> u64 {
        self.id
    }

    /// The graph.
    pub fn graph(self) -> GraphView<'h> {
        self.graph
    }

    /// Whether the node is still in the graph.
    pub fn exists(self) -> bool {
        (self.graph.host().node)(self.graph.cx(), self.id, &mut empty()) == status::OK
    }

    /// The domain; empty for ONNX's own operators.
    pub fn domain(self) -> String {
        self.view().domain.lent().to_owned()
    }

    /// The operator.
    pub fn op(self) -> String {
        self.view().op.lent().to_owned()
    }

    /// Whether this is the operator `op`.
    pub fn is<'a>(self, op: impl Operator<'a>) -> bool {
        self.is_in(op.domain(), op.name())
    }

    /// Whether this is the operator `op` of `domain`.
    pub fn is_in(self, domain: &str, op: &str) -> bool {
        let view = self.view();
        view.domain.lent() == domain && view.op.lent() == op
    }

    /// The traits of the operator, by ONNX's definition; none for an unknown one.
    pub fn traits(self) -> Traits {
        Traits::from_bits(self.view().traits)
    }

    /// The block that holds the node.
    pub fn block(self) -> BlockRef<'h> {
        BlockRef { graph: self.graph, id: self.view().block }
    }

    /// The inputs; `None` where an optional one is left out.
    pub fn inputs(self) -> Vec<Option<ValueRef<'h>>> {
        self.view().inputs.lent().iter().map(|id| self.given(*id)).collect()
    }

    /// The input at `index`, if there is one.
    pub fn input(self, index: usize) -> Option<ValueRef<'h>> {
        self.view().inputs.lent().get(index).and_then(|id| self.given(*id))
    }

    /// The outputs; `None` where an optional one is left out.
    pub fn outputs(self) -> Vec<Option<ValueRef<'h>>> {
        self.view().outputs.lent().iter().map(|id| self.given(*id)).collect()
    }

    /// The output at `index`, if there is one.
    pub fn output(self, index: usize) -> Option<ValueRef<'h>> {
        self.view().outputs.lent().get(index).and_then(|id| self.given(*id))
    }

    /// The names of the attributes that the node states, sorted.
    pub fn attributes(self) -> Vec<String> {
        self.view().attributes.lent().iter().map(|name| name.lent().to_owned()).collect()
    }

    /// The attribute called `name`. One that the node does not state has the default of the operator's version in the
    /// model; it is [`Attribute::None`] where there is no default.
    pub fn attribute(self, name: &str) -> Attribute {
        let host = self.graph.host();
        self.graph.attribute_by(|cx, view| (host.attribute)(cx, self.id, RStr::from_str(name), view))
    }

    /// The attributes that the node states, with their names, except blocks and those listed in `but`.
    pub fn attributes_but(self, but: &[&str]) -> Vec<(String, Attribute)> {
        let names = self.attributes().into_iter().filter(|name| !but.contains(&name.as_str()));
        let all = names.map(|name| {
            let value = self.attribute(&name);
            (name, value)
        });
        all.filter(|(_, value)| !matches!(value, Attribute::Block(_))).collect()
    }

    /// The integer attribute called `name`, or its default.
    pub fn int(self, name: &str) -> Option<i64> {
        self.attribute(name).int()
    }

    /// The float attribute called `name`, or its default.
    pub fn float(self, name: &str) -> Option<f32> {
        self.attribute(name).float()
    }

    /// The text attribute called `name`, or its default.
    pub fn str(self, name: &str) -> Option<String> {
        match self.attribute(name) {
            Attribute::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The integers of the attribute called `name`, or its default.
    pub fn ints(self, name: &str) -> Option<Vec<i64>> {
        match self.attribute(name) {
            Attribute::Ints(ints) => Some(ints),
            _ => None,
        }
    }

    /// The blocks among the attributes, by the attributes' names.
    pub fn blocks(self) -> Vec<BlockRef<'h>> {
        let block = |name: String| match self.attribute(&name) {
            Attribute::Block(id) => Some(BlockRef { graph: self.graph, id }),
            _ => None,
        };
        self.attributes().into_iter().filter_map(block).collect()
    }

    /// The exported node that this one comes from, `conv2d_3`; empty where there is none.
    pub fn exported(self) -> String {
        self.view().exported.lent().to_owned()
    }

    /// The exported operator that this one comes from, `aten.conv2d.default`; empty where there is none.
    pub fn target(self) -> String {
        self.view().target.lent().to_owned()
    }

    /// The path of the module that this one comes from, `layer1.0.conv1`; empty for the root.
    pub fn module(self) -> String {
        self.view().module.lent().to_owned()
    }

    fn given(self, id: u64) -> Option<ValueRef<'h>> {
        (id != NOTHING).then(|| self.graph.value(id))
    }

    /// Borrowed until the next call into the host.
    fn view(self) -> NodeView<'h> {
        let mut view = empty();
        let answer = (self.graph.host().node)(self.graph.cx(), self.id, &mut view);
        self.graph.expect(answer, "a node");
        view
    }
}

fn empty<'a>() -> NodeView<'a> {
    let none = RStr::from_str("");
    NodeView {
        block: NOTHING,
        domain: none,
        op: none,
        inputs: RSlice::EMPTY,
        outputs: RSlice::EMPTY,
        attributes: RSlice::EMPTY,
        exported: none,
        target: none,
        module: none,
        traits: 0,
    }
}

impl PartialEq for NodeRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for NodeRef<'_> {}

impl PartialOrd for NodeRef<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By the order in which the nodes were made, which need not be that of the graph.
impl Ord for NodeRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id.cmp(&other.id)
    }
}

impl Hash for NodeRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Debug for NodeRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeRef({:#x})", self.id)
    }
}
