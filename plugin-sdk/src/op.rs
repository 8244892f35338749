//! The operators of ONNX, as types.
//!
//! `cx.op(op::Softmax).input(x).axis(-1).one()` emits a node, and `node.as_op(op::Softmax)?.axis()` reads one. A
//! misspelt operator or attribute does not compile. [`Named`] is an operator that ONNX has not had so far.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Deref;

use crate::build::Attr;
use crate::{Block, Emit, Lower, NodeBuilder, NodeRef};

/// An operator of ONNX's own domain.
pub trait Operator<'a>: Copy {
    /// Its name.
    fn name(self) -> &'a str;

    /// Whether it is `other`.
    fn is<'b>(self, other: impl Operator<'b>) -> bool {
        self.name() == other.name()
    }

    /// The operator, where one of several is chosen at run time.
    fn named(self) -> Named<'a> {
        Named(self.name())
    }
}

/// An operator by name. Neither the name nor those of attributes are checked when the plugin is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a>(pub &'a str);

impl<'a> Operator<'a> for Named<'a> {
    fn name(self) -> &'a str {
        self.0
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
    /// The node as one of ONNX's own operator `O`; `None` if it is of another one.
    pub fn as_op<O: Operator<'static>>(self, operator: O) -> Option<View<'h, O>> {
        self.is(operator).then_some(View { node: self, operator: PhantomData })
    }
}

onnxport_macros::operator_types! {}
