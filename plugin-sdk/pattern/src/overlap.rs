//! Comparison of patterns: which of two rules is tried first matters where both match.

use crate::{Attribute, Dim, Name, Node, Number, Operand, Pattern, Term, Value};

/// Whether both patterns may match at one node. Conditions are not considered.
///
/// `commutes` tells whether the first two operands of ONNX's operator of a name match in either order.
pub fn overlap(a: &Pattern, b: &Pattern, commutes: &dyn Fn(&str) -> bool) -> bool {
    let (Some(first), Some(second)) = (a.roots.first(), b.roots.first()) else { return false };
    Overlap { a, b, commutes }.operands(first, second)
}

/// Whether `first` matches wherever `second` does, so that a rule of `second` that is tried later never applies.
///
/// Patterns with parts or several roots are not compared.
pub fn shadows(first: &Pattern, second: &Pattern) -> bool {
    let simple = |pattern: &Pattern| pattern.parts.is_empty() && pattern.roots.len() == 1;
    let (Some(a), Some(b)) = (first.roots.first(), second.roots.first()) else { return false };
    simple(first) && simple(second) && Cover::default().operand(a, b)
}

struct Overlap<'a> {
    a: &'a Pattern,
    b: &'a Pattern,
    commutes: &'a dyn Fn(&str) -> bool,
}

/// The part that a name stands for, if it does.
fn part<'a>(pattern: &'a Pattern, name: &Name) -> Option<&'a Operand> {
    pattern.parts.iter().find(|(part, _)| part.text == name.text).map(|(_, operand)| operand)
}

impl<'a> Overlap<'a> {
    fn operands(&self, a: &'a Operand, b: &'a Operand) -> bool {
        let shapes = match (&a.shape, &b.shape) {
            (Some(a), Some(b)) => extents(a, b),
            _ => true,
        };
        shapes && self.terms(&a.term, &b.term)
    }

    fn terms(&self, a: &'a Term, b: &'a Term) -> bool {
        match (a, b) {
            (Term::Either(terms), _) => terms.iter().any(|a| self.terms(&a.term, b)),
            (_, Term::Either(terms)) => terms.iter().any(|b| self.terms(a, &b.term)),
            (Term::Name { name, output: None, .. }, _) if part(self.a, name).is_some() => {
                part(self.a, name).is_some_and(|a| self.terms(&a.term, b))
            }
            (_, Term::Name { name, output: None, .. }) if part(self.b, name).is_some() => {
                part(self.b, name).is_some_and(|b| self.terms(a, &b.term))
            }
            (Term::Number(a), Term::Number(b)) => near(a, b),
            // No node makes an initializer.
            (Term::Number(_) | Term::Name { constant: true, .. }, Term::Node(node))
            | (Term::Node(node), Term::Number(_) | Term::Name { constant: true, .. }) => node.maybe,
            (Term::Node(a), Term::Node(b)) => self.nodes(a, b),
            _ => true,
        }
    }

    fn nodes(&self, a: &'a Node, b: &'a Node) -> bool {
        let inner = |node: &'a Node| node.operands.first().filter(|_| node.maybe);
        if inner(a).is_some_and(|x| matches!(&x.term, Term::Node(x) if self.nodes(x, b)))
            || inner(b).is_some_and(|x| matches!(&x.term, Term::Node(x) if self.nodes(a, x)))
        {
            return true;
        }
        if is_class(a) || is_class(b) {
            return true;
        }
        let differ = |a: &Attribute| {
            b.attributes.iter().any(|b| a.name.text == b.name.text && literals_differ(&a.value, &b.value))
        };
        a.op.text == b.op.text
            && a.domain.as_deref().unwrap_or_default() == b.domain.as_deref().unwrap_or_default()
            && a.output.unwrap_or(0) == b.output.unwrap_or(0)
            && !a.attributes.iter().any(differ)
            && self.inputs(a, b)
    }

    fn inputs(&self, a: &'a Node, b: &'a Node) -> bool {
        let fits = |longer: &Node, shorter: &Node| {
            shorter.open || longer.operands.iter().skip(shorter.operands.len()).all(may_be_missing)
        };
        let count = a.operands.len().min(b.operands.len());
        if !fits(a, b) || !fits(b, a) {
            return false;
        }
        let pairs = |swapped: bool| {
            (0..count).all(|at| {
                let other = if swapped && at < 2 { 1 - at } else { at };
                match (a.operands.get(at), b.operands.get(other)) {
                    (Some(a), Some(b)) => self.operands(a, b),
                    _ => true,
                }
            })
        };
        let either = |node: &Node| node.commutative.unwrap_or_else(|| (self.commutes)(&node.op.text));
        pairs(false) || count >= 2 && (either(a) || either(b)) && pairs(true)
    }
}

/// Whether no operator of ONNX has this name, but a class of operators.
fn is_class(node: &Node) -> bool {
    node.domain.is_none() && node.op.text.starts_with(|c: char| c.is_ascii_lowercase())
}

fn may_be_missing(operand: &Operand) -> bool {
    matches!(operand.term, Term::Any { optional: true } | Term::Name { optional: true, .. })
}

fn near(a: &Number, b: &Number) -> bool {
    (a.value() - b.value()).abs() <= a.tolerance() + b.tolerance()
}

fn literals_differ(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Capture(_), _) | (_, Value::Capture(_)) => false,
        (Value::Float(a), Value::Float(b)) => !near(a, b),
        _ => a != b,
    }
}

/// Whether a shape can fit both lists.
fn extents(a: &[Dim], b: &[Dim]) -> bool {
    if a.contains(&Dim::Rest) || b.contains(&Dim::Rest) {
        return true;
    }
    let differ = |pair: (&Dim, &Dim)| matches!(pair, (Dim::Number(a), Dim::Number(b)) if a != b);
    a.len() == b.len() && !a.iter().zip(b).any(differ)
}

/// Compares a pattern that must match wherever another does. Names of the first stand for terms of the second.
#[derive(Default)]
struct Cover<'a> {
    values: Vec<(&'a str, &'a Operand)>,
    attributes: Vec<(&'a str, &'a Value)>,
    extents: Vec<(&'a str, &'a Dim)>,
}

/// Binds a name once; whether what it stands for is the same everywhere.
fn bind<'a, T: PartialEq>(known: &mut Vec<(&'a str, &'a T)>, name: &'a str, found: &'a T) -> bool {
    match known.iter().find(|(other, _)| *other == name) {
        Some((_, first)) => *first == found,
        None => {
            known.push((name, found));
            true
        }
    }
}

impl<'a> Cover<'a> {
    fn operand(&mut self, a: &'a Operand, b: &'a Operand) -> bool {
        let shape = match (&a.shape, &b.shape) {
            (None, _) => true,
            (Some(a), Some(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|(a, b)| match a {
                        Dim::Any => *b != Dim::Rest,
                        Dim::Rest | Dim::Number(_) => a == b,
                        Dim::Variable(name) => {
                            !matches!(b, Dim::Any | Dim::Rest) && bind(&mut self.extents, &name.text, b)
                        }
                    })
            }
            (Some(_), None) => false,
        };
        shape && self.term(a, b)
    }

    fn term(&mut self, a: &'a Operand, b: &'a Operand) -> bool {
        if let Term::Either(terms) = &b.term {
            return matches!(a.term, Term::Any { .. }) && !terms.iter().any(may_be_missing);
        }
        match (&a.term, &b.term) {
            (Term::Any { optional }, _) => *optional || !may_be_missing(b),
            (Term::Name { name, constant: false, optional, output: None }, _) => {
                // A term that is written twice is one value only if it is a name.
                let again = self.values.iter().any(|(known, _)| *known == name.text);
                let is_name = matches!(b.term, Term::Name { .. });
                (*optional || !may_be_missing(b))
                    && (!again || is_name)
                    && bind(&mut self.values, &name.text, b)
            }
            (
                Term::Name { name, constant: true, optional, .. },
                Term::Name { constant: true, optional: other, .. },
            ) => (*optional || !*other) && bind(&mut self.values, &name.text, b),
            (Term::Number(a), Term::Number(b)) => {
                (a.value() - b.value()).abs() + b.tolerance() <= a.tolerance() || a == b
            }
            (Term::Node(a), Term::Node(b)) => self.node(a, b),
            _ => false,
        }
    }

    fn node(&mut self, a: &'a Node, b: &'a Node) -> bool {
        let same = a.op.text == b.op.text
            && a.domain == b.domain
            && a.output == b.output
            && a.maybe == b.maybe
            && (a.commutative == b.commutative || b.commutative == Some(false) && a.commutative.is_none())
            && (a.shared || !b.shared)
            && (a.open || !b.open)
            && (a.open || a.operands.len() == b.operands.len());
        let attributes = |cover: &mut Self| {
            let known =
                |attribute: &Attribute| a.attributes.iter().any(|own| own.name.text == attribute.name.text);
            (a.open || b.attributes.iter().all(known))
                && a.attributes.iter().all(|own| cover.attribute(own, b))
        };
        same && a.operands.len() <= b.operands.len()
            && a.operands.iter().zip(&b.operands).all(|(a, b)| self.operand(a, b))
            && attributes(self)
    }

    fn attribute(&mut self, own: &'a Attribute, node: &'a Node) -> bool {
        let Some(other) = node.attributes.iter().find(|other| other.name.text == own.name.text) else {
            return false;
        };
        let fits = match &own.value {
            Value::Capture(name) => bind(&mut self.attributes, &name.text, &other.value),
            value => *value == other.value,
        };
        fits && (own.optional || !other.optional)
    }
}
