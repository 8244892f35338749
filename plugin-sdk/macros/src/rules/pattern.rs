//! Patterns in Rust's tokens: their names have spans.

use onnxport_pattern::{self as syntax, Kind, Name, Token};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, Lit, LitStr, Result, Token};

use crate::known;

/// A pattern, and the spans of its tokens.
pub(super) struct Pattern {
    pub(super) syntax: syntax::Pattern,
    spans: Vec<Span>,
}

impl Pattern {
    /// A name of the pattern as an identifier, where it stands.
    pub(super) fn ident(&self, name: &Name) -> Ident {
        Ident::new(&name.text, self.span(Some(name.at)))
    }

    fn span(&self, at: Option<usize>) -> Span {
        let last = self.spans.last().copied().unwrap_or_else(Span::call_site);
        at.and_then(|at| self.spans.get(at).copied()).unwrap_or(last)
    }

    /// Checks the names of operators, and of their attributes.
    fn known(&self) -> Result<()> {
        self.syntax.nodes(&mut |node| {
            let op = self.ident(&node.op);
            let operator = match &node.domain {
                Some(domain) => known::foreign(domain, &op)?,
                None => known::operator_or_class(&op)?,
            };
            let Some(operator) = operator else { return Ok(()) };
            let mut attributes = node.attributes.iter().map(|attribute| &attribute.name);
            attributes.try_for_each(|name| known::attribute(operator, &name.text, self.span(Some(name.at))))
        })
    }
}

impl Parse for Pattern {
    /// Reads up to the condition or the replacement.
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut reader = Reader::default();
        while !input.is_empty() && !input.peek(Token![if]) && !input.peek(Token![=>]) {
            reader.tree(input.parse()?)?;
        }
        let Reader { tokens, spans } = reader;
        match syntax::parse(&tokens) {
            Ok(syntax) => {
                let pattern = Self { syntax, spans };
                pattern.known()?;
                Ok(pattern)
            }
            Err(error) => {
                let end = spans.last().copied().unwrap_or_else(|| input.span());
                let span = error.at.and_then(|at| spans.get(at).copied()).unwrap_or(end);
                Err(Error::new(span, error.message))
            }
        }
    }
}

/// Makes tokens of patterns from Rust's; their positions are indices of spans.
#[derive(Default)]
struct Reader {
    tokens: Vec<Token>,
    spans: Vec<Span>,
}

impl Reader {
    fn push(&mut self, kind: Kind, span: Span) {
        self.tokens.push(Token { kind, at: self.spans.len() });
        self.spans.push(span);
    }

    fn tree(&mut self, tree: TokenTree) -> Result<()> {
        match tree {
            TokenTree::Ident(ident) => self.push(Kind::Word(ident.unraw().to_string()), ident.span()),
            TokenTree::Punct(punct) => self.push(Kind::Symbol(punct.as_char()), punct.span()),
            TokenTree::Literal(literal) => {
                let span = literal.span();
                self.push(kind(&Lit::new(literal))?, span);
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ('(', ')'),
                    Delimiter::Bracket => ('[', ']'),
                    Delimiter::Brace => ('{', '}'),
                    Delimiter::None => return self.stream(group.stream()),
                };
                self.push(Kind::Symbol(open), group.span_open());
                self.stream(group.stream())?;
                self.push(Kind::Symbol(close), group.span_close());
            }
        }
        Ok(())
    }

    fn stream(&mut self, stream: TokenStream) -> Result<()> {
        stream.into_iter().try_for_each(|tree| self.tree(tree))
    }
}

/// A literal as a token: without the underscores of Rust's numbers.
fn kind(literal: &Lit) -> Result<Kind> {
    Ok(match literal {
        Lit::Str(text) => Kind::Text(text.value()),
        Lit::Int(int) if int.suffix().is_empty() => Kind::Number(int.base10_digits().to_owned()),
        Lit::Float(float) if float.suffix().is_empty() => Kind::Number(float.base10_digits().to_owned()),
        _ => return Err(Error::new_spanned(literal, "expected a number or a text")),
    })
}

/// `"com.microsoft"::`, or nothing for ONNX's own operators. `""::` is ONNX's own domain, where the operator is not checked.
pub(super) fn domain(input: ParseStream<'_>) -> Result<Option<String>> {
    if !input.peek(LitStr) {
        return Ok(None);
    }
    let domain: LitStr = input.parse()?;
    input.parse::<Token![::]>()?;
    Ok(Some(domain.value()))
}
