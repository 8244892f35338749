//! The grammar of rewrite patterns, such as `Mul(Sqrt(x), const w)`. `docs/optimizer-plugins.md` describes it.
//!
//! The host reads patterns from texts and the macro `rules!` from Rust's tokens: both become [`Token`]s, which one parser
//! reads. A [`Pattern`] prints as the text that crosses from a plugin to the host.

mod overlap;
mod parse;
mod print;
#[cfg(test)]
mod tests;
mod token;

pub use overlap::{overlap, shadows};
pub use parse::{Error, parse};
pub use print::quoted;
pub use token::{Kind, Token, tokens};

/// `let part = …; Op(…)`, or several roots in parentheses.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// The named parts, in order.
    pub parts: Vec<(Name, Operand)>,
    /// The values that the rule replaces.
    pub roots: Vec<Operand>,
}

/// A name where it stands. Names are equal wherever they stand.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// The position of its token.
    pub at: usize,
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Name {}

/// A term, with its shape if it states one.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// The term.
    pub term: Term,
    /// The extents.
    pub shape: Option<Vec<Dim>>,
}

/// The constraint on a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// `_` or `_?`: any value.
    Any {
        /// Whether there may be none.
        optional: bool,
    },
    /// A variable, or a part of this name.
    Name {
        /// The name.
        name: Name,
        /// `const x`: only an initializer.
        constant: bool,
        /// `x?`: whether there may be none.
        optional: bool,
        /// `part.1`: another output of the node.
        output: Option<u32>,
    },
    /// A constant whose elements are all this number.
    Number(Number),
    /// An output of a node.
    Node(Box<Node>),
    /// `(a | b)`: the first that matches.
    Either(Vec<Operand>),
}

/// A number, and the tolerance of a match: `0.5 ~ 1e-3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    text: String,
    tolerance: Option<String>,
}

impl Number {
    /// The number.
    pub fn value(&self) -> f64 {
        self.text.parse().unwrap_or(f64::NAN)
    }

    /// The largest difference of a match; 0 unless stated.
    pub fn tolerance(&self) -> f64 {
        self.tolerance.as_ref().map_or(0.0, |text| text.parse().unwrap_or(0.0))
    }
}

/// `name @ shared maybe commutative "domain"::Op(operands, attribute = value, ..).output`
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The name of the node.
    pub name: Option<Name>,
    /// Whether nodes outside the match may read its outputs.
    pub shared: bool,
    /// Whether the node may be missing around its first operand.
    pub maybe: bool,
    /// Whether the first two operands match in either order, if stated.
    pub commutative: Option<bool>,
    /// The domain; `None` for ONNX's own, whose operators `rules!` checks.
    pub domain: Option<String>,
    /// The operator, or a class of operators such as `each`.
    pub op: Name,
    /// The inputs.
    pub operands: Vec<Operand>,
    /// The attributes.
    pub attributes: Vec<Attribute>,
    /// Whether there may be further inputs and attributes.
    pub open: bool,
    /// The output that is matched, if it is not the first.
    pub output: Option<u32>,
}

/// `name = value`, or `name = value?`.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name.
    pub name: Name,
    /// The constraint.
    pub value: Value,
    /// Whether the attribute may be missing, whatever its default is.
    pub optional: bool,
}

/// The constraint on an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Any value, bound to a name.
    Capture(Name),
    /// This integer.
    Int(i64),
    /// This number.
    Float(Number),
    /// This text.
    Str(String),
    /// These integers.
    Ints(Vec<i64>),
    /// These numbers.
    Floats(Vec<f32>),
}

/// A size, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dim {
    /// `_`: any size.
    Any,
    /// `..`: any number of axes.
    Rest,
    /// This size.
    Number(u64),
    /// A known size, bound to a name.
    Variable(Name),
}

impl Pattern {
    /// Calls `each` with every node, outer ones first, in the order in which they are written.
    ///
    /// # Errors
    /// The first error of `each`.
    pub fn nodes<E>(&self, each: &mut dyn FnMut(&Node) -> Result<(), E>) -> Result<(), E> {
        let parts = self.parts.iter().map(|(_, part)| part);
        parts.chain(&self.roots).try_for_each(|operand| operand.nodes(each))
    }
}

impl Operand {
    fn nodes<E>(&self, each: &mut dyn FnMut(&Node) -> Result<(), E>) -> Result<(), E> {
        match &self.term {
            Term::Node(node) => {
                each(node)?;
                node.operands.iter().try_for_each(|operand| operand.nodes(each))
            }
            Term::Either(terms) => terms.iter().try_for_each(|operand| operand.nodes(each)),
            Term::Any { .. } | Term::Name { .. } | Term::Number(_) => Ok(()),
        }
    }
}
