//! The operators of ONNX, as types.
//!
//! `cx.op(op::Softmax).input(x).axis(-1).one()` emits a node, and `node.as_op(op::Softmax)?.axis()` reads one. A
//! misspelt operator or attribute does not compile. [`microsoft`] has operators of ONNX Runtime, and [`Named`] is an operator
//! without a type.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Deref;

use crate::build::Attr;
use crate::{Block, Emit, Lower, NodeBuilder, NodeRef};

/// An operator.
pub trait Operator<'a>: Copy {
    /// Its name.
    fn name(self) -> &'a str;

    /// Its domain; empty for ONNX's own operators.
    fn domain(self) -> &'a str {
        ""
    }

    /// The version of its domain that a model has to import; 0 for ONNX's own domain, where the model's opset decides.
    fn version(self) -> i64 {
        0
    }

    /// Whether it is `other`.
    fn is<'b>(self, other: impl Operator<'b>) -> bool {
        self.name() == other.name() && self.domain() == other.domain()
    }

    /// The operator, where one of several is chosen at run time.
    fn named(self) -> Named<'a> {
        Named { domain: self.domain(), version: self.version(), name: self.name() }
    }
}

/// An operator by name. Neither the name nor those of attributes are checked when the plugin is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    domain: &'a str,
    version: i64,
    name: &'a str,
}

impl<'a> Named<'a> {
    /// An operator of ONNX's own domain.
    pub const fn new(name: &'a str) -> Self {
        Self::in_domain("", 0, name)
    }

    /// An operator of `domain`, of which a model has to import `version`.
    pub const fn in_domain(domain: &'a str, version: i64, name: &'a str) -> Self {
        Self { domain, version, name }
    }
}

impl<'a> Operator<'a> for Named<'a> {
    fn name(self) -> &'a str {
        self.name
    }

    fn domain(self) -> &'a str {
        self.domain
    }

    fn version(self) -> i64 {
        self.version
    }
}

/// A node of the operator `O`.
///
/// Its methods read attributes; one that the node does not state has the default of the model's opset, and `None` if
/// there is no default.
#[derive(Clone, Copy, Debug)]
pub struct View<'h, O> {
    node: NodeRef<'h>,
    operator: PhantomData<O>,
}

impl<'h, O> View<'h, O> {
    /// The node.
    pub fn node(self) -> NodeRef<'h> {
        self.node
    }
}

impl<'h, O> Deref for View<'h, O> {
    type Target = NodeRef<'h>;

    fn deref(&self) -> &NodeRef<'h> {
        &self.node
    }
}

impl<'h> NodeRef<'h> {
    /// The node as one of the operator `O`; `None` if it is of another one.
    pub fn as_op<O: Operator<'static>>(self, operator: O) -> Option<View<'h, O>> {
        self.is(operator).then_some(View { node: self, operator: PhantomData })
    }
}

onnxport_macros::operator_types! {}
