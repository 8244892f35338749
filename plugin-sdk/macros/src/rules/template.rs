//! The replacement of a match: an operator over the pattern's values, one of them, or the result of Rust code
//! builds.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Block, Error, Expr, Ident, LitStr, Path, Result, Token, parenthesized, token};

use super::names::{Bound, Names};
use super::pattern::domain;
use crate::known;

pub(super) enum Template {
    Node(Box<Node>),
    /// A variable of the pattern, or a function.
    Path(Path),
    /// Rust code that makes a value: a block, or a call of a function.
    Code(TokenStream),
    /// The replacements of the outputs of several roots.
    Several(Vec<Template>),
}

pub(super) struct Node {
    domain: String,
    op: Ident,
    operands: Vec<Option<Template>>,
    attributes: Vec<(Ident, Expr)>,
    /// The nodes whose other attributes are taken over.
    copied: Vec<Ident>,
}

impl Parse for Template {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(token::Brace) {
            let block: Block = input.parse()?;
            return Ok(Self::Code(quote!(#block)));
        }
        if input.peek(token::Paren) {
            let content;
            parenthesized!(content in input);
            let parts = content.parse_terminated(Self::parse, Token![,])?;
            return Ok(Self::Several(parts.into_iter().collect()));
        }
        if input.peek(LitStr) {
            return Ok(Self::Node(Box::new(input.parse()?)));
        }
        let ahead = input.fork();
        let path: Path = ahead.parse()?;
        if !ahead.peek(token::Paren) {
            return Ok(Self::Path(input.parse()?));
        }
        // Operators are capitalised, functions are not.
        match path.get_ident().map(Ident::to_string) {
            Some(op) if !op.starts_with(|c: char| c.is_lowercase()) => {
                Ok(Self::Node(Box::new(input.parse()?)))
            }
            _ => {
                let call: Expr = input.parse()?;
                Ok(Self::Code(quote!(#call)))
            }
        }
    }
}

impl Parse for Node {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let domain = domain(input)?;
        let op: Ident = input.parse()?;
        let known = match &domain {
            Some(domain) => known::foreign(domain, &op)?,
            None => Some(known::operator(&op)?),
        };
        let domain = domain.unwrap_or_default();
        let content;
        parenthesized!(content in input);
        let (operands, attributes, copied) = (Vec::new(), Vec::new(), Vec::new());
        let mut node = Self { domain, op, operands, attributes, copied };
        while !content.is_empty() {
            if content.peek(Token![..]) {
                content.parse::<Token![..]>()?;
                node.copied.push(content.parse()?);
            } else if content.peek(Ident::peek_any) && content.peek2(Token![=]) && !content.peek2(Token![==])
            {
                let name = content.call(Ident::parse_any)?;
                known.map_or(Ok(()), |operator| {
                    known::attribute(operator, &name.unraw().to_string(), name.span())
                })?;
                content.parse::<Token![=]>()?;
                node.attributes.push((name, content.parse()?));
            } else if !node.attributes.is_empty() || !node.copied.is_empty() {
                return Err(content.error("operands must come before attributes"));
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
    /// Whether it always makes a replacement: code may refuse.
    pub(super) fn never_refuses(&self, names: &Names) -> bool {
        match self {
            Self::Code(_) => false,
            // A variable, or a function.
            Self::Path(path) => path.get_ident().is_some_and(|name| names.find(name).is_some()),
            Self::Several(parts) => parts.iter().all(|part| part.never_refuses(names)),
            Self::Node(node) => {
                let plain = |value: &Expr| matches!(value, Expr::Path(_) | Expr::Lit(_));
                node.operands.iter().flatten().all(|operand| operand.never_refuses(names))
                    && node.attributes.iter().all(|(_, value)| plain(value))
            }
        }
    }

    /// An expression that stands for the outputs of the roots.
    pub(super) fn expand(&self, names: &Names, cx: &Ident) -> Result<TokenStream> {
        match self {
            Self::Path(path) => match path.get_ident().and_then(|name| names.find(name)) {
                Some(_) => self.value(names, cx),
                None => Ok(quote!(#path(#cx))),
            },
            Self::Several(parts) => {
                let parts = parts.iter().map(|part| part.expand(names, cx)).collect::<Result<Vec<_>>>()?;
                let parts = parts.iter().map(|part| quote!(::onnxport_sdk::Replacement::outputs(#part)?));
                Ok(quote!(::std::vec![#(#parts),*].concat()))
            }
            _ => self.value(names, cx),
        }
    }

    /// An expression that is one value.
    fn value(&self, names: &Names, cx: &Ident) -> Result<TokenStream> {
        match self {
            Self::Node(node) => node.expand(names, cx),
            Self::Code(code) => Ok(code.clone()),
            Self::Several(_) => Err(Error::new(cx.span(), "several values require several roots")),
            Self::Path(path) => {
                let name = path.get_ident().and_then(|name| names.find(name));
                let Some(name) = name else {
                    return Err(Error::new_spanned(path, "the pattern has no such variable"));
                };
                let (ident, wrong) = (&name.ident, |why: &str| Err(Error::new_spanned(path, why)));
                match name.bound {
                    _ if !name.certain => wrong("it may be left out; write code that decides"),
                    Bound::Value => Ok(quote!(#ident)),
                    Bound::Node(output) => {
                        let output = output as usize;
                        Ok(quote!(::onnxport_sdk::Matched::there(#ident.output(#output), "an output")?))
                    }
                    Bound::Attribute | Bound::Extent | Bound::Part => {
                        wrong("this is an attribute, a dimension or alternatives, not a value")
                    }
                }
            }
        }
    }
}

impl Node {
    fn expand(&self, names: &Names, cx: &Ident) -> Result<TokenStream> {
        let (domain, op) = (&self.domain, self.op.to_string());
        let mut inputs = Vec::new();
        for operand in &self.operands {
            let Some(template) = operand else {
                inputs.push(quote!(.maybe(None)));
                continue;
            };
            let name = match template {
                Template::Path(path) => path.get_ident().and_then(|name| names.find(name)),
                _ => None,
            };
            match name {
                Some(name) if name.bound == Bound::Value && !name.certain => {
                    let ident = &name.ident;
                    inputs.push(quote!(.maybe(#ident)));
                }
                _ => {
                    let value = template.value(names, cx)?;
                    inputs.push(quote!(.input(#value)));
                }
            }
        }
        let attributes = self.attributes.iter().map(|(name, value)| {
            let name = name.unraw().to_string();
            quote!(.set(#name, ::onnxport_sdk::AttributeValue::into_attribute(#value)?))
        });
        let node = quote!(::onnxport_sdk::Emit::op_in(#cx, #domain, 1, #op)#(#inputs)*#(#attributes)*);
        let stated: Vec<String> = self.attributes.iter().map(|(name, _)| name.unraw().to_string()).collect();
        let copied = self.copied.iter().map(|node| quote!(#node.attributes_but(&[#(#stated),*])));
        if self.copied.is_empty() {
            return Ok(quote!(#node.one()));
        }
        Ok(quote! {{
            let copied: ::std::vec::Vec<(::std::string::String, ::onnxport_sdk::Attribute)> =
                [#(#copied),*].concat();
            copied.iter().fold(#node, |node, (name, value)| node.set(name, value.clone())).one()
        }})
    }
}
