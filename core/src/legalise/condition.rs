//! Conditions on a node, as words of a line.

use super::constant::{is_constant, is_static, numbers};
use super::fit::{bind, dtype, variable};
use crate::ir::opset::{OpSchema, formal};
use crate::ir::{Attr, Graph, Node, ValueId};
use crate::sym::Dim;
use crate::tensor::DType;

/// One word of a line.
///
/// ```text
/// T=f16,f64            a type variable, or an input or output, is one of these
/// reduction=add,mul    an attribute is one of these; ONNX's default if the node does not state it
/// reduction!=none      an attribute is none of these
/// dilations=1          each element of an attribute is one of these
/// output_padding>=strides   an element of one attribute is not below that of the other
/// strides==kernel_shape     two attributes are the same
/// rank(X)=3,4          an input has so many axes; rank(X)!=4 has another number
/// dim(X,-1)>4096       the size of an axis; also <, <=, >=, =, !=
/// dim(X,1)=?           the size of an axis is dynamic
/// value(K)>=3840       an element of a constant input
/// const(W), !const(W)  an input that is given is a constant, or is not
/// static(X), !static(X)     the size of each axis of an input is known, or is not
/// B, !B                an input or an attribute is given, or an output is read, or not
/// ```
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Condition {
    Types(String, Vec<DType>),
    Attribute {
        name: String,
        among: bool,
        values: Vec<String>,
    },
    AtLeast(String, String),
    Same(String, String),
    Rank {
        input: String,
        among: bool,
        ranks: Vec<usize>,
    },
    /// `None` for a dynamic size.
    Dim {
        input: String,
        axis: i64,
        test: Option<(Test, i64)>,
    },
    Element {
        input: String,
        test: Test,
        number: f64,
    },
    Constant(String, bool),
    Static(String, bool),
    Given(String, bool),
}

/// A comparison with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    Less,
    AtMost,
    Equal,
    Other,
    AtLeast,
    More,
}

impl Test {
    /// The comparison at the start of `text`, and the text after it.
    fn parse(text: &str) -> Option<(Self, &str)> {
        let all = [
            ("<=", Self::AtMost),
            (">=", Self::AtLeast),
            ("!=", Self::Other),
            ("<", Self::Less),
            (">", Self::More),
            ("=", Self::Equal),
        ];
        all.into_iter().find_map(|(sign, test)| Some((test, text.strip_prefix(sign)?)))
    }

    fn holds<T: PartialOrd>(self, left: &T, right: &T) -> bool {
        match self {
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::Equal => left == right,
            Self::Other => left != right,
            Self::AtLeast => left >= right,
            Self::More => left > right,
        }
    }
}

impl Condition {
    pub(super) fn parse(word: &str) -> Option<Self> {
        let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        if let Some((function, rest)) = word.split_once('(') {
            let (argument, rest) = rest.split_once(')')?;
            return Self::call(function, argument, rest);
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

    /// `rank(X)=4`, as `rank`, `X` and `=4`.
    fn call(function: &str, argument: &str, rest: &str) -> Option<Self> {
        let (function, given) = function.strip_prefix('!').map_or((function, true), |name| (name, false));
        let input = argument.to_owned();
        match (function, given) {
            ("const", _) if rest.is_empty() => Some(Self::Constant(input, given)),
            ("static", _) if rest.is_empty() => Some(Self::Static(input, given)),
            ("rank", true) => {
                let (among, list) = match rest.strip_prefix("!=") {
                    Some(list) => (false, list),
                    None => (true, rest.strip_prefix('=')?),
                };
                let ranks = list.split(',').map(|rank| rank.parse().ok()).collect::<Option<_>>()?;
                Some(Self::Rank { input, among, ranks })
            }
            ("dim", true) => {
                let (input, axis) = argument.split_once(',')?;
                let test = match rest {
                    "=?" => None,
                    rest => {
                        let (test, number) = Test::parse(rest)?;
                        Some((test, number.parse().ok()?))
                    }
                };
                Some(Self::Dim { input: input.to_owned(), axis: axis.parse().ok()?, test })
            }
            ("value", true) => {
                let (test, number) = Test::parse(rest)?;
                Some(Self::Element { input, test, number: number.parse().ok()? })
            }
            _ => None,
        }
    }

    /// Whether it holds for `node`, whose signature is `schema`, for all that the model states.
    pub(super) fn holds(&self, graph: &Graph, node: &Node, schema: &OpSchema) -> bool {
        self.truth(graph, node, schema) == Some(true)
    }

    /// Whether it holds for `node`, whose signature is `schema`; `None` where the model does not state it.
    pub(super) fn truth(&self, graph: &Graph, node: &Node, schema: &OpSchema) -> Option<bool> {
        let dims = |x: ValueId| graph.values[x].ty.shape()?.dims();
        Some(match self {
            Self::Rank { input: name, among, ranks } => match input(node, schema, name) {
                Some(x) => ranks.contains(&dims(x)?.len()) == *among,
                None => false,
            },
            Self::Dim { input: name, axis, test } => match input(node, schema, name) {
                Some(x) => {
                    let dims = dims(x)?;
                    let from_end = if *axis < 0 { dims.len() as i64 } else { 0 };
                    let index = usize::try_from(axis.checked_add(from_end)?).ok();
                    // There is no such axis: the restriction is about another rank.
                    let Some(dim) = index.and_then(|index| dims.get(index)) else { return Some(false) };
                    let size = dim.and_then(Dim::as_const);
                    match test {
                        None => size.is_none(),
                        Some((test, number)) => test.holds(&size?, number),
                    }
                }
                None => false,
            },
            Self::Element { input: name, test, number } => match input(node, schema, name) {
                Some(x) => numbers(graph, x)?.iter().any(|found| test.holds(found, number)),
                None => false,
            },
            Self::Constant(name, wanted) => {
                input(node, schema, name).is_some_and(|x| is_constant(graph, x) == *wanted)
            }
            Self::Static(name, wanted) => match input(node, schema, name) {
                Some(x) => is_static(graph.values[x].ty.shape()?) == *wanted,
                None => false,
            },
            Self::Types(name, types) if is_given(node, schema, name) => {
                types.contains(&types_of(graph, node, schema, name)?)
            }
            other => other.stated(graph, node, schema),
        })
    }

    /// Whether it holds, where the node itself states it.
    fn stated(&self, graph: &Graph, node: &Node, schema: &OpSchema) -> bool {
        match self {
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
            Self::Given(name, given) => {
                let read = |output: ValueId| graph.is_read(output);
                let output = output(node, schema, name).is_some_and(read);
                (output || input(node, schema, name).is_some() || node.attr(name).is_some()) == *given
            }
            _ => false,
        }
    }
}

/// Whether the node has a value of the type variable, input or output `name`.
fn is_given(node: &Node, schema: &OpSchema, name: &str) -> bool {
    let is_of = |(index, value): (usize, &Option<ValueId>), formals| {
        let variable = formal(formals, index).and_then(variable).map(usize::from);
        value.is_some() && variable.and_then(|at| schema.type_vars.get(at)).is_some_and(|v| v.name == name)
    };
    node.inputs.iter().enumerate().any(|value| is_of(value, schema.inputs))
        || node.outputs.iter().enumerate().any(|value| is_of(value, schema.outputs))
        || input(node, schema, name).is_some()
        || output(node, schema, name).is_some()
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
        Attr::Ints(all) => value.parse().is_ok_and(|n: i64| all.iter().all(|element| *element == n)),
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
