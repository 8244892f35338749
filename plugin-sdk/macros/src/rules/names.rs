//! The names of a pattern, which conditions and replacements read as variables.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Ident, Result};

use super::pattern::{AttributeValue, Dim, Node, Operand, Pattern, Term};

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
        let mut names = Self::default();
        for (name, part) in &pattern.parts {
            names.operand(part, false)?;
            let bound = match &part.term {
                Term::Node(node) if !node.may_be_missing() => Bound::Node(node.output.unwrap_or(0)),
                _ => Bound::Part,
            };
            names.add(name, bound, false)?;
        }
        for root in &pattern.roots {
            names.operand(root, true)?;
        }
        // The contents of a part are as certain as the part.
        for (name, part) in pattern.parts.iter().rev() {
            if names.find(name).is_some_and(|name| name.certain) {
                names.operand(part, true)?;
            }
        }
        Ok(names)
    }

    pub(super) fn find(&self, name: &Ident) -> Option<&Name> {
        self.0.iter().find(|known| known.ident == *name)
    }

    fn add(&mut self, ident: &Ident, bound: Bound, certain: bool) -> Result<()> {
        match self.0.iter_mut().find(|known| known.ident == *ident) {
            Some(known) if known.bound == bound => known.certain |= certain,
            // A part that is read again.
            Some(known) if bound == Bound::Value && matches!(known.bound, Bound::Node(_) | Bound::Part) => {
                known.certain |= certain;
            }
            Some(_) => return Err(Error::new(ident.span(), "the name is used for two kinds of things")),
            None => self.0.push(Name { ident: ident.clone(), bound, certain }),
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
            Term::Either(terms) => {
                let Some((first, rest)) = terms.split_first() else { return Ok(()) };
                // Names that every alternative binds are certain.
                let mut common = Self::default();
                common.operand(first, true)?;
                for term in rest {
                    let mut other = Self::default();
                    other.operand(term, true)?;
                    common.0.retain(|name| other.find(&name.ident).is_some_and(|name| name.certain));
                }
                for term in terms {
                    self.operand(term, false)?;
                }
                for name in common.0.iter().filter(|name| name.certain && certain) {
                    self.add(&name.ident, name.bound, true)?;
                }
                Ok(())
            }
        }
    }

    fn node(&mut self, node: &Node, certain: bool) -> Result<()> {
        let stands = certain && !node.may_be_missing();
        if let Some(name) = &node.name {
            if self.find(name).is_some_and(|known| matches!(known.bound, Bound::Node(_)) && !certain) {
                return Err(Error::new(name.span(), "two nodes have this name"));
            }
            self.add(name, Bound::Node(node.output.unwrap_or(0)), stands)?;
        }
        for (at, operand) in node.operands.iter().enumerate() {
            // The first operand is there, too, where the node is missing.
            self.operand(operand, if at == 0 { certain } else { stands })?;
        }
        for attribute in &node.attributes {
            if let AttributeValue::Capture(name) = &attribute.value {
                self.add(name, Bound::Attribute, stands)?;
            }
        }
        Ok(())
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
