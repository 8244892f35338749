//! Conditions on a node, as words of a line.

use super::fit::{bind, dtype};
use crate::ir::opset::OpSchema;
use crate::ir::{Attr, Graph, Node, ValueId};
use crate::tensor::DType;

/// One word of a line.
///
/// ```text
/// T=f16,f64            a type variable, or an input or output, is one of these
/// reduction=add,mul    an attribute is one of these; ONNX's default if the node does not state it
/// reduction!=none      an attribute is none of these
/// output_padding>=strides   an element of one attribute is not below that of the other
/// strides==kernel_shape     two attributes are the same
/// rank(X)=4            an input has so many axes
/// B, !B                an input or an attribute is given, or an output is read, or not
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Types(String, Vec<DType>),
    Attribute { name: String, among: bool, values: Vec<String> },
    AtLeast(String, String),
    Same(String, String),
    Rank(String, usize),
    Given(String, bool),
}

impl Condition {
    pub(super) fn parse(word: &str) -> Option<Self> {
        let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        if let Some((name, rank)) = word.strip_prefix("rank(").and_then(|rest| rest.split_once(")=")) {
            return Some(Self::Rank(name.to_owned(), rank.parse().ok()?));
        }
        if let Some((left, right)) = word.split_once(">=") {
            return Some(Self::AtLeast(left.to_owned(), right.to_owned()));
        }
        if let Some((left, right)) = word.split_once("==") {
            return Some(Self::Same(left.to_owned(), right.to_owned()));
        }
        if let Some((name, values)) = word.split_once("!=") {
            return Some(Self::Attribute { name: name.to_owned(), among: false, values: list(values) });
        }
        if let Some((name, values)) = word.split_once('=') {
            let (name, values) = (name.to_owned(), list(values));
            let types: Option<Vec<DType>> = values.iter().map(|t| t.parse().ok()).collect();
            return Some(match types {
                Some(types) => Self::Types(name, types),
                None => Self::Attribute { name, among: true, values },
            });
        }
        let (name, given) = word.strip_prefix('!').map_or((word, true), |name| (name, false));
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name.then(|| Self::Given(name.to_owned(), given))
    }

    /// Whether it holds for `node`, whose signature is `schema`.
    pub(super) fn holds(&self, graph: &Graph, node: &Node, schema: &OpSchema) -> bool {
        match self {
            Self::Types(name, types) => {
                types_of(graph, node, schema, name).is_some_and(|dtype| types.contains(&dtype))
            }
            Self::Attribute { name, among, values } => {
                stated(node, schema, name).is_some_and(|attr| values.iter().any(|v| is(&attr, v)) == *among)
            }
            Self::AtLeast(left, right) => match (stated(node, schema, left), stated(node, schema, right)) {
                (Some(Attr::Ints(left)), Some(Attr::Ints(right))) => {
                    left.iter().zip(&right).any(|(left, right)| left >= right)
                }
                _ => false,
            },
            Self::Same(left, right) => match (stated(node, schema, left), stated(node, schema, right)) {
                (Some(Attr::Ints(left)), Some(Attr::Ints(right))) => left == right,
                _ => false,
            },
            Self::Rank(name, rank) => {
                let shape = input(node, schema, name).and_then(|x| graph.values[x].ty.shape()?.dims());
                shape.is_some_and(|dims| dims.len() == *rank)
            }
            Self::Given(name, given) => {
                let read = |output: ValueId| graph.is_read(output);
                let output = output(node, schema, name).is_some_and(read);
                (output || input(node, schema, name).is_some() || node.attr(name).is_some()) == *given
            }
        }
    }
}

/// The value of an attribute: stated, or else the default.
pub(super) fn stated(node: &Node, schema: &OpSchema, name: &str) -> Option<Attr> {
    let default = || schema.attributes.iter().find(|a| a.name == name)?.default.map(Attr::from);
    node.attr(name).cloned().or_else(default)
}

fn is(attr: &Attr, value: &str) -> bool {
    match attr {
        Attr::Int(n) => value.parse() == Ok(*n),
        Attr::Float(x) => value.parse() == Ok(*x),
        Attr::Str(text) => text == value,
        _ => false,
    }
}

fn input(node: &Node, schema: &OpSchema, name: &str) -> Option<ValueId> {
    let index = schema.inputs.iter().position(|formal| formal.name == name)?;
    node.inputs.get(index).copied().flatten()
}

fn output(node: &Node, schema: &OpSchema, name: &str) -> Option<ValueId> {
    let index = schema.outputs.iter().position(|formal| formal.name == name)?;
    node.outputs.get(index).copied().flatten()
}

/// The element type that a type variable, an input or an output stands for.
fn types_of(graph: &Graph, node: &Node, schema: &OpSchema, name: &str) -> Option<DType> {
    if let Some(variable) = schema.type_vars.iter().position(|v| v.name == name) {
        return bind(graph, node, schema).get(variable).copied().flatten().map(|(dtype, _)| dtype);
    }
    if let Some(index) = schema.inputs.iter().position(|formal| formal.name == name) {
        return dtype(graph, node.inputs.get(index));
    }
    dtype(graph, Some(&output(node, schema, name)))
}
