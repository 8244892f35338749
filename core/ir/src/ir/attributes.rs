//! The attributes of a node, with the defaults of its operator.

use super::opset::{self, AttrDefault};
use super::{Attr, Node};

/// The attributes of a node as its operator defines them: an attribute that the node does not state has the default of the
/// operator's version in force ([`opset::default`]).
///
/// An attribute that refers to one of the enclosing function is stated, but its value is not known: it is `None`.
#[derive(Clone, Copy)]
pub struct Attributes<'a> {
    node: &'a Node,
    version: i64,
}

impl Node {
    /// The attributes, with the defaults of `version` of the node's domain.
    pub fn at(&self, version: i64) -> Attributes<'_> {
        Attributes { node: self, version }
    }

    /// The default of the attribute `name` at `version` of the node's domain.
    pub fn default_of(&self, name: &str, version: i64) -> Option<&'static AttrDefault> {
        opset::default(&self.domain, &self.op, version, name)
    }
}

impl<'a> Attributes<'a> {
    /// The integer attribute called `name`, or its default.
    pub fn int(self, name: &str) -> Option<i64> {
        match (self.node.attr(name), || self.node.default_of(name, self.version)) {
            (Some(Attr::Int(n)), _) => Some(*n),
            (None, default) => default()?.int(),
            _ => None,
        }
    }

    /// Whether the integer attribute called `name`, or its default, is not 0; one that is absent and has no default is 0.
    pub fn flag(self, name: &str) -> Option<bool> {
        match (self.node.attr(name), self.int(name)) {
            (Some(_), None) => None,
            (_, found) => Some(found.unwrap_or(0) != 0),
        }
    }

    /// The float attribute called `name`, or its default.
    pub fn float(self, name: &str) -> Option<f32> {
        match (self.node.attr(name), || self.node.default_of(name, self.version)) {
            (Some(Attr::Float(x)), _) => Some(*x),
            (None, default) => default()?.float(),
            _ => None,
        }
    }

    /// The text attribute called `name`, or its default.
    pub fn text(self, name: &str) -> Option<&'a str> {
        match (self.node.attr(name), || self.node.default_of(name, self.version)) {
            (Some(Attr::Str(text)), _) => Some(text),
            (None, default) => default()?.text(),
            _ => None,
        }
    }
}
