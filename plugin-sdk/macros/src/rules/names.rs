//! The names of a pattern, which conditions and replacements read as variables.

use onnxport_pattern::{self as syntax, Dim, Node, Operand, Term, Value};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Ident, Result};

use super::pattern::Pattern;

/// A name and its meaning.
pub(super) struct Name {
    pub(super) ident: Ident,
    pub(super) bound: Bound,
    /// Whether it stands for something wherever the pattern fits.
    pub(super) certain: bool,
}

/// The meaning of a name in a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Value,
    Extent,
    Attribute,
    /// With the output that it is as a value.
    Node(u32),
    /// A part that is not one node: alternatives.
    Part,
}

/// Every name of a pattern, each once, in the order in which they stand.
#[derive(Default)]
pub(super) struct Names(pub(super) Vec<Name>);

impl Names {
    pub(super) fn from_pattern(pattern: &Pattern) -> Result<Self> {
        let mut reader = Reader { pattern, names: Self::default() };
        let syntax = &pattern.syntax;
        for (name, part) in &syntax.parts {
            reader.operand(part, false)?;
            let bound = match &part.term {
                Term::Node(node) if !node.maybe => Bound::Node(node.output.unwrap_or(0)),
                _ => Bound::Part,
            };
            reader.add(name, bound, false)?;
        }
        for root in &syntax.roots {
            reader.operand(root, true)?;
        }
        // The contents of a part are as certain as the part.
        for (name, part) in syntax.parts.iter().rev() {
            if reader.names.by_text(&name.text).is_some_and(|name| name.certain) {
                reader.operand(part, true)?;
            }
        }
        Ok(reader.names)
    }

    pub(super) fn find(&self, name: &Ident) -> Option<&Name> {
        self.0.iter().find(|known| known.ident == *name)
    }

    fn by_text(&self, text: &str) -> Option<&Name> {
        self.0.iter().find(|known| known.ident == text)
    }

    /// The names of one kind, in the order of the host.
    pub(super) fn of_kind(&self, wanted: impl Fn(Bound) -> bool) -> Vec<String> {
        self.0.iter().filter(|name| wanted(name.bound)).map(|name| name.ident.to_string()).collect()
    }

    /// Statements that bind every name.
    pub(super) fn bindings(&self, matched: &TokenStream) -> TokenStream {
        let (mut values, mut dims, mut nodes, mut attributes) = (0_usize.., 0_usize.., 0_usize.., 0_usize..);
        let statements = self.0.iter().map(|name| {
            let ident = &name.ident;
            let text = ident.to_string();
            let (read, certain) = match name.bound {
                Bound::Value => {
                    let at = values.next();
                    (quote!(#matched.value_at(#at)), name.certain)
                }
                Bound::Extent => {
                    let at = dims.next();
                    (quote!(#matched.dim_at(#at)), name.certain)
                }
                Bound::Node(_) => {
                    let at = nodes.next();
                    (quote!(#matched.node_at(#at)), name.certain)
                }
                Bound::Attribute => {
                    let at = attributes.next();
                    (quote!(&#matched.attribute_at(#at)), false)
                }
                Bound::Part => return TokenStream::new(),
            };
            if certain {
                quote!(let #ident = ::onnxport_sdk::Matched::there(#read, #text)?;)
            } else {
                quote!(let #ident = #read;)
            }
        });
        quote!(#(#statements)*)
    }
}

/// Collects the names of a pattern.
struct Reader<'a> {
    pattern: &'a Pattern,
    names: Names,
}

impl Reader<'_> {
    fn add(&mut self, name: &syntax::Name, bound: Bound, certain: bool) -> Result<()> {
        let ident = self.pattern.ident(name);
        match self.names.0.iter_mut().find(|known| known.ident == ident) {
            Some(known) if known.bound == bound => known.certain |= certain,
            // A part that is read again.
            Some(known) if bound == Bound::Value && matches!(known.bound, Bound::Node(_) | Bound::Part) => {
                known.certain |= certain;
            }
            Some(_) => return Err(Error::new(ident.span(), "the name is used for two kinds of things")),
            None => self.names.0.push(Name { ident, bound, certain }),
        }
        Ok(())
    }

    fn operand(&mut self, operand: &Operand, certain: bool) -> Result<()> {
        for dim in operand.shape.iter().flatten() {
            if let Dim::Variable(name) = dim {
                self.add(name, Bound::Extent, certain)?;
            }
        }
        match &operand.term {
            Term::Any { .. } | Term::Number(_) => Ok(()),
            Term::Name { name, optional, .. } => self.add(name, Bound::Value, certain && !optional),
            Term::Node(node) => self.node(node, certain),
            Term::Either(terms) => self.either(terms, certain),
        }
    }

    /// Names that every alternative binds are certain.
    fn either(&mut self, terms: &[Operand], certain: bool) -> Result<()> {
        let mut common: Option<Vec<Name>> = None;
        for term in terms {
            let mut other = Reader { pattern: self.pattern, names: Names::default() };
            other.operand(term, true)?;
            let is_certain = |name: &Name| other.names.find(&name.ident).is_some_and(|name| name.certain);
            common = Some(match common {
                Some(names) => names.into_iter().filter(is_certain).collect(),
                None => other.names.0,
            });
        }
        terms.iter().try_for_each(|term| self.operand(term, false))?;
        for name in common.into_iter().flatten().filter(|name| name.certain && certain) {
            if let Some(known) = self.names.0.iter_mut().find(|known| known.ident == name.ident) {
                known.certain = true;
            }
        }
        Ok(())
    }

    fn node(&mut self, node: &Node, certain: bool) -> Result<()> {
        let stands = certain && !node.maybe;
        if let Some(name) = &node.name {
            let known = self.names.by_text(&name.text);
            if known.is_some_and(|known| matches!(known.bound, Bound::Node(_)) && !certain) {
                return Err(Error::new(self.pattern.ident(name).span(), "two nodes have this name"));
            }
            self.add(name, Bound::Node(node.output.unwrap_or(0)), stands)?;
        }
        for (at, operand) in node.operands.iter().enumerate() {
            // The first operand is there, too, where the node is missing.
            self.operand(operand, if at == 0 { certain } else { stands })?;
        }
        for attribute in &node.attributes {
            if let Value::Capture(name) = &attribute.value {
                self.add(name, Bound::Attribute, stands)?;
            }
        }
        Ok(())
    }
}
