//! Patterns: terms that match values, and the roots among them.
//!
//! [`super::text`] parses them from the text of `rules/1`.

use crate::ir::{Graph, Node, NodeId, Shape, ValueId};
use crate::op;
use crate::ops::{self, Traits, traits};
use crate::sym::Dim;

/// A pattern to match in a graph.
#[derive(Debug, Default)]
pub(crate) struct Pattern {
    pub(crate) terms: Vec<Term>,
    /// The terms whose nodes the patch replaces. Matching begins at the first.
    pub(crate) roots: Vec<TermId>,
    /// The names of the variables for values, sizes and attributes.
    pub(crate) values: Vec<String>,
    pub(crate) dims: Vec<String>,
    pub(crate) captures: Vec<String>,
    /// The bindings that the rule asks for by name.
    pub(crate) wanted: Requested,
    /// Whether an attribute that is not given equals its default.
    pub(crate) defaults: bool,
}

/// The position of a term among those of its pattern.
pub(crate) type TermId = usize;

/// The bindings of a match that the plugin receives, in this order.
#[derive(Debug, Default)]
pub(crate) struct Requested {
    pub(crate) nodes: Vec<TermId>,
    pub(crate) values: Vec<usize>,
    pub(crate) dims: Vec<usize>,
    pub(crate) captures: Vec<usize>,
}

/// The constraint on a value.
#[derive(Debug)]
pub(crate) struct Term {
    pub(crate) kind: Kind,
    /// Whether the input is optional.
    pub(crate) optional: bool,
    pub(crate) shape: Option<Vec<DimTerm>>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Any,
    /// A variable, with one value throughout the pattern.
    Value(usize),
    /// The same, and an initializer.
    Constant(usize),
    /// A small constant whose elements are all this number.
    Number(Number),
    /// An output of a node.
    Node(NodeTerm),
    /// Another output of the node of a term.
    Output(TermId, u32),
    /// The first of these that matches.
    Either(Vec<TermId>),
}

/// A number, and the tolerance of a match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number {
    pub(crate) value: f64,
    pub(crate) tolerance: f64,
}

impl Number {
    /// Whether `found`, of a type that rounds numbers by `round`, matches this number.
    pub(crate) fn is(self, found: f64, round: impl Fn(f64) -> f64) -> bool {
        let rounded = round(self.value);
        // A number that overflows or underflows the type does not match its infinity or its 0.
        let held = (rounded == 0.0) == (self.value == 0.0) && rounded.is_finite() == self.value.is_finite();
        held && found == rounded || (found - self.value).abs() <= self.tolerance
    }
}

#[derive(Debug)]
pub(crate) struct NodeTerm {
    pub(crate) domain: String,
    /// The operator, or the word of a class.
    pub(crate) op: String,
    /// The class of operators that match, if any.
    pub(crate) class: Option<OpClass>,
    pub(crate) operands: Vec<TermId>,
    pub(crate) attributes: Vec<Attribute>,
    /// The index of the output.
    pub(crate) output: u32,
    /// The first two operands may come in either order.
    pub(crate) commutative: bool,
    /// There may be further inputs and attributes.
    pub(crate) open: bool,
    /// Nodes outside the match may read its outputs.
    pub(crate) shared: bool,
}

impl NodeTerm {
    /// Whether `node` is of the operator, or of one of the class over as many operands.
    pub(crate) fn fits(&self, graph: &Graph, node: &Node) -> bool {
        match self.class {
            None => self.op == node.op && self.domain == node.domain,
            Some(class) => class.has(graph, node, self.operands.len()),
        }
    }
}

/// Operators with a trait; any of them matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpClass {
    /// `each(x)`: elementwise over `x`, if all further inputs are scalars or left out. `each(x, y)`: broadcasting over
    /// exactly these.
    Each,
    /// `view(x)`: the elements of `x` in the same order, in any shape.
    View,
    /// `reduce(x, axes)`: reductions of `x`.
    Reduce,
}

impl OpClass {
    /// Returns the class that a word of the grammar names. No operator of ONNX begins with a lowercase letter.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        match word {
            "each" => Some(Self::Each),
            "view" => Some(Self::View),
            "reduce" => Some(Self::Reduce),
            _ => None,
        }
    }

    /// Returns the traits of the class's operators, over so many operands.
    fn traits(self, operands: usize) -> Traits {
        match self {
            Self::Each if operands == 1 => Traits::ELEMENTWISE,
            Self::Each => Traits::BROADCASTING,
            Self::View => Traits::RESHAPES,
            Self::Reduce => Traits::REDUCTION,
        }
    }

    /// Whether the class has no operators over so many operands.
    pub(crate) fn is_empty(self, operands: usize) -> bool {
        let most = match self {
            Self::Each => usize::MAX,
            Self::View => 1,
            Self::Reduce => 2,
        };
        !(1..=most).contains(&operands)
    }

    /// Whether `node` matches, in a pattern with so many operands.
    fn has(self, graph: &Graph, node: &Node, operands: usize) -> bool {
        let further = || node.inputs.iter().skip(operands).flatten();
        traits(node).has(self.traits(operands))
            && match self {
                Self::Each if operands == 1 => further().all(|value| is_scalar(graph, *value)),
                Self::Each => further().next().is_none(),
                Self::View | Self::Reduce => true,
            }
    }

    /// The operators of the class.
    fn names(self, operands: usize) -> impl Iterator<Item = &'static str> {
        let wanted = self.traits(operands);
        ops::all().iter().filter(move |op| op.traits().has(wanted)).map(|op| op.name)
    }

    /// Returns the operator that represents the class in trials of a pattern.
    pub(crate) fn example(self, operands: usize) -> &'static str {
        match (self, operands) {
            (Self::View, _) => op::Flatten,
            (Self::Reduce, _) => op::ReduceSum,
            (Self::Each, 1) => op::Neg,
            (Self::Each, 2) => op::Sub,
            (Self::Each, _) => op::Sum,
        }
    }
}

/// Whether a value has one element, whatever it is broadcast with.
fn is_scalar(graph: &Graph, value: ValueId) -> bool {
    let dims = graph.values[value].ty.shape().and_then(Shape::dims);
    dims.is_some_and(|dims| dims.iter().all(|dim| *dim == Some(Dim::Const(1))))
}

/// A size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DimTerm {
    Any,
    Number(i64),
    /// A variable for a known size, the same throughout the pattern.
    Variable(usize),
    /// Any number of axes.
    Rest,
}

#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) wants: AttributeWants,
    /// Whether it may be absent whatever its default is.
    pub(crate) optional: bool,
}

/// The constraint on an attribute.
#[derive(Debug)]
pub(crate) enum AttributeWants {
    Capture(usize),
    Int(i64),
    Float(Number),
    Str(String),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
}

impl Pattern {
    /// Returns the possible operators of a root: of the first root, all alternatives.
    pub(crate) fn root_ops(&self) -> Vec<&str> {
        let mut ops: Vec<&str> = Vec::new();
        let mut waiting: Vec<TermId> = self.roots.first().copied().into_iter().collect();
        while let Some(Term { kind, .. }) = waiting.pop().and_then(|id| self.terms.get(id)) {
            match kind {
                Kind::Node(NodeTerm { class: Some(class), operands, .. }) => {
                    for name in class.names(operands.len()) {
                        ops.push(name);
                    }
                }
                Kind::Node(node) => ops.push(node.op.as_str()),
                Kind::Either(terms) => waiting.extend(terms),
                Kind::Output(term, _) => waiting.push(*term),
                _ => {}
            }
        }
        ops.sort_unstable();
        ops.dedup();
        ops
    }

    /// Whether the term is a node, and `node` fits its operator.
    pub(crate) fn fits(&self, term: TermId, graph: &Graph, node: NodeId) -> bool {
        match self.terms.get(term).map(|term| &term.kind) {
            Some(Kind::Node(wanted)) => wanted.fits(graph, &graph.nodes[node]),
            _ => graph.nodes[node].op == self.op(term),
        }
    }

    /// The operator of a term, for messages.
    pub(crate) fn op(&self, term: TermId) -> &str {
        match self.terms.get(term).map(|term| &term.kind) {
            Some(Kind::Node(node)) => &node.op,
            Some(Kind::Output(of, _)) if *of < term => self.op(*of),
            Some(Kind::Either(terms)) => terms.iter().find(|t| **t < term).map_or("?", |t| self.op(*t)),
            _ => "?",
        }
    }
}
