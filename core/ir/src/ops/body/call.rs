//! Queries of bodies about a node.

use crate::ir::opset::OpSchema;
use crate::ir::{Attr, BlockId, Graph, Node, Shape, Type};
use crate::sym::Dim;
use crate::tensor::DType;

/// A node, and the types of its inputs.
pub(super) struct Call<'a> {
    /// The graph that holds the node.
    pub(super) graph: &'a Graph,
    /// The node.
    pub(super) node: &'a Node,
    /// The types of its inputs, as far as they are known.
    pub(super) types: &'a [Type],
    /// The signature of its operator.
    pub(super) schema: &'static OpSchema,
}

impl Call<'_> {
    /// The attribute called `name`, or its default.
    fn attr(&self, name: &str) -> Option<Attr> {
        self.node.attr(name).cloned().or_else(|| self.schema.default_of(name).map(Attr::from))
    }

    /// The integer attribute called `name`, or its default.
    pub(super) fn int(&self, name: &str) -> Option<i64> {
        match self.attr(name) {
            Some(Attr::Int(n)) => Some(n),
            _ => None,
        }
    }

    /// The float attribute called `name`, or its default.
    pub(super) fn float(&self, name: &str) -> Option<f32> {
        match self.attr(name) {
            Some(Attr::Float(x)) => Some(x),
            _ => None,
        }
    }

    /// The text attribute called `name`, or its default.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.attr(name) {
            Some(Attr::Str(text)) => Some(text),
            _ => None,
        }
    }

    /// The graph that the node has as the attribute called `name`.
    pub(super) fn block(&self, name: &str) -> Option<BlockId> {
        match self.node.attr(name) {
            Some(Attr::Block(block)) => Some(*block),
            _ => None,
        }
    }

    /// Whether input `index` is given.
    pub(super) fn has(&self, index: usize) -> bool {
        self.node.inputs.get(index).is_some_and(Option::is_some)
    }

    /// Whether output `index` is asked for.
    pub(super) fn asks(&self, index: usize) -> bool {
        self.node.outputs.get(index).is_some_and(Option::is_some)
    }

    /// The element type of the tensor that input `index` is.
    pub(super) fn dtype(&self, index: usize) -> Option<DType> {
        match self.types.get(index)? {
            Type::Tensor { dtype, .. } => *dtype,
            _ => None,
        }
    }

    /// The number of axes of input `index`.
    pub(super) fn rank(&self, index: usize) -> Option<usize> {
        self.types.get(index)?.shape().and_then(Shape::rank)
    }

    /// The size of input `index` along `axis`, where it is a number.
    pub(super) fn extent(&self, index: usize, axis: usize) -> Option<i64> {
        match self.types.get(index)?.shape()?.dims()?.get(axis)? {
            Some(Dim::Const(n)) => Some(*n),
            _ => None,
        }
    }

    /// Whether a condition, given as a word, holds for the call.
    pub(super) fn is(&self, what: &str) -> Option<bool> {
        if let Some(at) = what.strip_prefix('+') {
            return Some(self.has(at.parse().ok()?));
        }
        if let Some(at) = what.strip_prefix('-') {
            return Some(!self.has(at.parse().ok()?));
        }
        let (name, wanted) = what.split_once(':')?;
        if let Some(at) = name.strip_prefix("type").filter(|at| !at.is_empty()) {
            return Some(self.dtype(at.parse().ok()?)?.onnx().to_string() == wanted);
        }
        Some(match (name, wanted) {
            ("outputs", count) => count.parse() == Ok(self.node.outputs.len()),
            (_, "given") => self.node.attr(name).is_some(),
            (_, "absent") => self.node.attr(name).is_none(),
            (_, "natural") => matches!(self.attr(name), Some(Attr::Int(0..))),
            (_, "negative") => matches!(self.attr(name), Some(Attr::Int(..=-1))),
            (_, text) => matches!(self.attr(name), Some(Attr::Str(own)) if own == text),
        })
    }

    /// The text with each `$name` replaced by its value in `stated`, or else in the call.
    pub(super) fn fill(&self, text: &str, stated: &[(&str, String)]) -> Option<String> {
        let mut parts = text.split('$');
        let mut out = parts.next()?.to_owned();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
            let (name, rest) = part.split_at_checked(end)?;
            let value = match stated.iter().find(|(of, _)| *of == name) {
                Some((_, value)) => value.clone(),
                None => self.says(name)?,
            };
            out.extend([&value, rest]);
        }
        Some(out)
    }

    /// The number that `name` stands for: an attribute, or with `type0` the element type of input 0.
    fn says(&self, name: &str) -> Option<String> {
        if let Some(at) = name.strip_prefix("type").filter(|at| !at.is_empty()) {
            return Some(self.dtype(at.parse().ok()?)?.onnx().to_string());
        }
        match self.attr(name)? {
            Attr::Int(n) => Some(n.to_string()),
            Attr::Float(x) => Some(format!("{x:?}")),
            _ => None,
        }
    }
}
