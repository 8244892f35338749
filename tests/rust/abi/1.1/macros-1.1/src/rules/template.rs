//! What stands in the place of a match: an operator over the pattern's values, one of them, or what a
//! function builds.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Block, Error, Expr, Ident, LitStr, Path, Result, Token, parenthesized, token};

use super::pattern::{Bound, Flat, domain};

pub(super) enum Template {
    Node(Box<Node>),
    /// A variable of the pattern, or a function.
    Path(Path),
    /// Rust code that makes a value.
    Block(Block),
}

pub(super) struct Node {
    domain: String,
    op: Ident,
    operands: Vec<Option<Template>>,
    attributes: Vec<(Ident, Expr)>,
}

impl Parse for Template {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(token::Brace) {
            return Ok(Self::Block(input.parse()?));
        }
        if input.peek(LitStr) || input.peek2(token::Paren) {
            return Ok(Self::Node(Box::new(input.parse()?)));
        }
        Ok(Self::Path(input.parse()?))
    }
}

impl Parse for Node {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let domain = domain(input)?;
        let op = input.parse()?;
        let content;
        parenthesized!(content in input);
        let mut node = Self { domain, op, operands: Vec::new(), attributes: Vec::new() };
        while !content.is_empty() {
            if content.peek(Ident::peek_any) && content.peek2(Token![=]) && !content.peek2(Token![==]) {
                let name = content.call(Ident::parse_any)?;
                content.parse::<Token![=]>()?;
                node.attributes.push((name, content.parse()?));
            } else if !node.attributes.is_empty() {
                return Err(content.error("operands stand before attributes"));
            } else if content.peek(Token![_]) {
                content.parse::<Token![_]>()?;
                node.operands.push(None);
            } else {
                node.operands.push(Some(content.parse()?));
            }
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
            }
        }
        Ok(node)
    }
}

impl Template {
    /// An expression that stands for the outputs of the root.
    pub(super) fn expand(&self, flat: &Flat, cx: &Ident) -> Result<TokenStream> {
        match self {
            Self::Path(path) => match path.get_ident().map(|name| flat.bound(name)) {
                Some(Some(_)) => self.value(flat, cx),
                _ => Ok(quote!(#path(#cx))),
            },
            _ => self.value(flat, cx),
        }
    }

    /// An expression that is one value.
    fn value(&self, flat: &Flat, cx: &Ident) -> Result<TokenStream> {
        match self {
            Self::Node(node) => node.expand(flat, cx),
            Self::Block(block) => Ok(quote!(#block)),
            Self::Path(path) => match path.get_ident().map(|name| (name, flat.bound(name))) {
                Some((name, Some(Bound::Value { optional: false }))) => Ok(quote!(#name)),
                Some((name, Some(Bound::Value { optional: true }))) => {
                    Err(Error::new(name.span(), "the value may be left out; write a function that decides"))
                }
                Some((name, Some(Bound::Attribute | Bound::Node))) => {
                    Err(Error::new(name.span(), "this stands for an attribute or a node, not for a value"))
                }
                _ => Err(Error::new_spanned(path, "the pattern has no such variable")),
            },
        }
    }
}

impl Node {
    fn expand(&self, flat: &Flat, cx: &Ident) -> Result<TokenStream> {
        let (domain, op) = (&self.domain, self.op.to_string());
        let mut inputs = Vec::new();
        for operand in &self.operands {
            let Some(template) = operand else {
                inputs.push(quote!(.maybe(None)));
                continue;
            };
            let name = match template {
                Template::Path(path) => path.get_ident(),
                _ => None,
            };
            match name.and_then(|name| flat.bound(name)) {
                Some(Bound::Value { optional: true }) => inputs.push(quote!(.maybe(#name))),
                _ => {
                    let value = template.value(flat, cx)?;
                    inputs.push(quote!(.input(#value)));
                }
            }
        }
        let attributes = self.attributes.iter().map(|(name, value)| {
            let name = name.unraw().to_string();
            quote!(.set(#name, ::onnxport_sdk::AttributeValue::into_attribute(#value)?))
        });
        Ok(quote!(#cx.op_in(#domain, 1, #op)#(#inputs)*#(#attributes)*.one()))
    }
}
