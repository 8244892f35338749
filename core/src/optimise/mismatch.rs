//! Why a pattern does not fit at a node, in words.

use crate::ir::{Graph, NodeId, ValueId};
use crate::rules::pattern::{DimTerm, Pattern, TermId};

/// Why a pattern does not fit, and how much of it did.
#[derive(Debug)]
pub(super) struct Mismatch {
    pub(super) depth: usize,
    pub(super) why: Why,
}

#[derive(Debug)]
pub(super) enum Why {
    /// This term is something else: an operator, or no node at all.
    Operator(TermId, Option<NodeId>),
    /// Another output of the node is read.
    Output(TermId),
    Attribute(TermId, String),
    FurtherAttribute(TermId, String),
    MissingInput(TermId, usize),
    FurtherInputs(TermId),
    /// Two operands that must be one value are different.
    Variable(usize),
    NotConstant(TermId, usize),
    NotNumber(TermId, usize, f64),
    /// The shape differs, or is not known well enough.
    Shape(TermId, ValueId),
    /// A size that must be the same everywhere differs.
    Dim(usize),
    /// A value inside the pattern is also read elsewhere.
    Used(TermId, ValueId),
    OtherBlock(TermId),
    /// No node matches this further root.
    NoRoot(TermId),
    /// There is no position for the patch after its inputs and before the readers of its results.
    NoPlace,
    /// There are too many ways to try.
    TooMany,
}

impl Mismatch {
    /// The reason in words.
    pub(super) fn describe(&self, pattern: &Pattern, graph: &Graph) -> String {
        let op = |term: &TermId| pattern.op(*term);
        let named = |value: &ValueId| {
            graph.values[*value].name.as_deref().map_or_else(String::new, |name| format!(", `{name}`,"))
        };
        match &self.why {
            Why::Operator(term, Some(found)) if pattern.fits(*term, graph, *found) => {
                format!("`{}` would match two different nodes, or one node twice", op(term))
            }
            Why::Operator(term, Some(found)) => {
                format!("found `{}` instead of `{}`", graph.nodes[*found].op, op(term))
            }
            Why::Operator(term, None) => {
                format!("found a graph input or constant instead of `{}`", op(term))
            }
            Why::Output(term) => format!("another output of `{}` is read", op(term)),
            Why::Attribute(term, name) => {
                format!("the attribute `{name}` of `{}` does not match the pattern", op(term))
            }
            Why::FurtherAttribute(term, name) => {
                format!("`{}` has an attribute `{name}`, which the pattern does not mention", op(term))
            }
            Why::MissingInput(term, input) => format!("`{}` has no input {input}", op(term)),
            Why::FurtherInputs(term) => format!("`{}` has more inputs than the pattern mentions", op(term)),
            Why::Variable(variable) => {
                let name = pattern.values.get(*variable).map_or("?", String::as_str);
                format!("`{name}` would be two different things")
            }
            Why::NotConstant(term, input) => format!("input {input} of `{}` is not a constant", op(term)),
            Why::NotNumber(term, input, number) => {
                format!("input {input} of `{}` is not {number} throughout", op(term))
            }
            Why::Shape(term, value) => {
                let stated = pattern.terms.get(*term).and_then(|term| term.shape.as_deref());
                let dims: Vec<String> =
                    stated.unwrap_or_default().iter().map(|d| text(*d, pattern)).collect();
                format!("a value{} is not known to have the shape [{}]", named(value), dims.join(", "))
            }
            Why::Dim(variable) => {
                let name = pattern.dims.get(*variable).map_or("?", String::as_str);
                format!("the size `{name}` would be two different ones")
            }
            Why::Used(term, value) => {
                format!("the result of the inner `{}`{} has other readers", op(term), named(value))
            }
            Why::OtherBlock(term) => format!("the inner `{}` lies in another block", op(term)),
            Why::NoRoot(term) => format!("no other `{}` matches beside it", op(term)),
            Why::NoPlace => {
                "a reader of its first result comes before values that other roots need".to_owned()
            }
            Why::TooMany => "there are too many ways in which the pattern could fit".to_owned(),
        }
    }
}

fn text(dim: DimTerm, pattern: &Pattern) -> String {
    match dim {
        DimTerm::Any => "_".to_owned(),
        DimTerm::Number(number) => number.to_string(),
        DimTerm::Variable(variable) => pattern.dims.get(variable).cloned().unwrap_or_default(),
        DimTerm::Rest => "..".to_owned(),
    }
}
