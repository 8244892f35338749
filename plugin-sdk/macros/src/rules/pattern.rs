//! Patterns: their grammar.

use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, Lit, LitInt, LitStr, Result, Token, UnOp, bracketed, parenthesized, token};

use crate::known;

/// `let part = …; Op(…)`, or several roots in parentheses.
pub(super) struct Pattern {
    pub(super) parts: Vec<(Ident, Operand)>,
    pub(super) roots: Vec<Operand>,
}

/// A term with its shape.
pub(super) struct Operand {
    pub(super) term: Term,
    pub(super) shape: Option<Vec<Dim>>,
}

pub(super) enum Term {
    Any {
        optional: bool,
    },
    /// A variable, or a part that has this name.
    Name {
        name: Ident,
        constant: bool,
        optional: bool,
        output: Option<u32>,
    },
    Number(Number),
    Node(Box<Node>),
    Either(Vec<Operand>),
}

pub(super) struct Number {
    pub(super) value: String,
    pub(super) tolerance: Option<String>,
}

/// `name @ shared maybe commutative "domain"::Op(operands, attribute = value, ..).output`
pub(super) struct Node {
    pub(super) name: Option<Ident>,
    pub(super) keywords: Vec<Ident>,
    pub(super) domain: String,
    pub(super) op: Ident,
    pub(super) operands: Vec<Operand>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) open: bool,
    pub(super) output: Option<u32>,
}

pub(super) struct Attribute {
    pub(super) name: Ident,
    pub(super) value: AttributeValue,
    pub(super) optional: bool,
}

pub(super) enum AttributeValue {
    Capture(Ident),
    /// As it stands in a text.
    Literal(String),
}

pub(super) enum Dim {
    Any,
    Rest,
    Number(u64),
    Variable(Ident),
}

impl Node {
    /// Whether the node may be missing around its first operand.
    pub(super) fn may_be_missing(&self) -> bool {
        self.keywords.iter().any(|keyword| keyword == "maybe")
    }
}

impl Parse for Pattern {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut parts = Vec::new();
        while input.peek(Token![let]) {
            input.parse::<Token![let]>()?;
            let name = input.parse()?;
            input.parse::<Token![=]>()?;
            parts.push((name, input.parse()?));
            input.parse::<Token![;]>()?;
        }
        // Roots in parentheses are separated by commas, alternatives by bars.
        if input.peek(token::Paren) {
            let ahead = input.fork();
            let content;
            parenthesized!(content in ahead);
            content.parse::<Operand>()?;
            if !content.peek(Token![|]) {
                return Ok(Self { parts, roots: several(input)? });
            }
        }
        Ok(Self { parts, roots: vec![input.parse()?] })
    }
}

fn several(input: ParseStream<'_>) -> Result<Vec<Operand>> {
    let content;
    parenthesized!(content in input);
    let mut roots = vec![content.parse()?];
    while !content.is_empty() {
        content.parse::<Token![,]>()?;
        if !content.is_empty() {
            roots.push(content.parse()?);
        }
    }
    Ok(roots)
}

impl Parse for Operand {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let term = input.parse()?;
        let shape = if input.peek(Token![:]) {
            input.parse::<Token![:]>()?;
            Some(shape(input)?)
        } else {
            None
        };
        Ok(Self { term, shape })
    }
}

fn shape(input: ParseStream<'_>) -> Result<Vec<Dim>> {
    let content;
    bracketed!(content in input);
    let dims = content.parse_terminated(Dim::parse, Token![,])?;
    Ok(dims.into_iter().collect())
}

impl Parse for Dim {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(Token![_]) {
            input.parse::<Token![_]>()?;
            return Ok(Self::Any);
        }
        if input.peek(Token![..]) {
            input.parse::<Token![..]>()?;
            return Ok(Self::Rest);
        }
        if input.peek(LitInt) {
            return Ok(Self::Number(input.parse::<LitInt>()?.base10_parse()?));
        }
        Ok(Self::Variable(input.parse()?))
    }
}

impl Parse for Term {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(Token![_]) {
            input.parse::<Token![_]>()?;
            return Ok(Self::Any { optional: question(input)? });
        }
        if input.peek(Token![const]) {
            input.parse::<Token![const]>()?;
            let name = input.parse()?;
            return Ok(Self::Name { name, constant: true, optional: question(input)?, output: None });
        }
        if input.peek(token::Paren) {
            let content;
            parenthesized!(content in input);
            let mut terms = vec![content.parse()?];
            while !content.is_empty() {
                content.parse::<Token![|]>()?;
                terms.push(content.parse()?);
            }
            return Ok(Self::Either(terms));
        }
        if input.peek(Lit) && !input.peek(LitStr) || input.peek(Token![-]) {
            return Ok(Self::Number(input.parse()?));
        }
        let inner = input.peek(LitStr)
            || input.peek2(token::Paren)
            || input.peek2(Token![@])
            || input.peek2(Ident)
            || input.peek2(LitStr);
        if inner {
            return Ok(Self::Node(Box::new(input.parse()?)));
        }
        let name = input.parse()?;
        let output = output(input)?;
        Ok(Self::Name { name, constant: false, optional: question(input)?, output })
    }
}

impl Parse for Node {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut name = None;
        if input.peek2(Token![@]) {
            name = Some(input.parse()?);
            input.parse::<Token![@]>()?;
        }
        let mut keywords = Vec::new();
        // A keyword stands before an operator or a domain.
        while input.peek(Ident) && (input.peek2(Ident) || input.peek2(LitStr)) {
            let keyword: Ident = input.parse()?;
            if !["shared", "maybe", "commutative", "ordered"].iter().any(|known| keyword == known) {
                let expected = "expected `shared`, `maybe`, `commutative`, `ordered` or an operator";
                return Err(Error::new(keyword.span(), expected));
            }
            keywords.push(keyword);
        }
        let domain = domain(input)?;
        let op: Ident = input.parse()?;
        if domain.is_none() {
            known::operator_or_class(&op)?;
        }
        let domain = domain.unwrap_or_default();
        let content;
        parenthesized!(content in input);
        let (operands, attributes) = (Vec::new(), Vec::new());
        let mut node = Self { name, keywords, domain, op, operands, attributes, open: false, output: None };
        node.arguments(&content)?;
        node.output = output(input)?;
        for keyword in &node.keywords {
            let (least, why) = match keyword.to_string().as_str() {
                "commutative" => (2, "a commutative operator has two operands"),
                "maybe" => (1, "an operator that may be missing has an operand"),
                _ => continue,
            };
            if node.operands.len() < least {
                return Err(Error::new(node.op.span(), why));
            }
        }
        Ok(node)
    }
}

impl Node {
    fn arguments(&mut self, input: ParseStream<'_>) -> Result<()> {
        while !input.is_empty() {
            if input.peek(Token![..]) {
                input.parse::<Token![..]>()?;
                self.open = true;
            } else if input.peek(Ident::peek_any) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
                self.attributes.push(input.parse()?);
            } else if self.attributes.is_empty() {
                self.operands.push(input.parse()?);
            } else {
                return Err(input.error("operands must come before attributes"));
            }
            if input.is_empty() {
                break;
            }
            if self.open {
                return Err(input.error("`..` stands last"));
            }
            input.parse::<Token![,]>()?;
        }
        Ok(())
    }
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

/// `.1`
fn output(input: ParseStream<'_>) -> Result<Option<u32>> {
    if !input.peek(Token![.]) {
        return Ok(None);
    }
    input.parse::<Token![.]>()?;
    input.parse::<LitInt>()?.base10_parse().map(Some)
}

fn question(input: ParseStream<'_>) -> Result<bool> {
    let optional = input.peek(Token![?]);
    if optional {
        input.parse::<Token![?]>()?;
    }
    Ok(optional)
}

impl Parse for Number {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value = number(&without_question(input)?)?;
        let mut tolerance = None;
        if input.peek(Token![~]) {
            input.parse::<Token![~]>()?;
            tolerance = Some(number(&Expr::Lit(input.parse()?))?);
        }
        Ok(Self { value, tolerance })
    }
}

impl Parse for Attribute {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = input.call(Ident::parse_any)?;
        input.parse::<Token![=]>()?;
        let value = if input.peek(Ident) {
            AttributeValue::Capture(input.parse()?)
        } else if input.peek(LitStr) {
            AttributeValue::Literal(quoted(&input.parse::<LitStr>()?.value()))
        } else if input.peek(token::Bracket) {
            let content;
            bracketed!(content in input);
            let numbers = content.parse_terminated(Expr::parse, Token![,])?;
            let numbers: Vec<String> = numbers.iter().map(number).collect::<Result<_>>()?;
            AttributeValue::Literal(format!("[{}]", numbers.join(", ")))
        } else {
            AttributeValue::Literal(input.parse::<Number>()?.to_string())
        };
        Ok(Self { name, value, optional: question(input)? })
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.value)?;
        self.tolerance.iter().try_for_each(|tolerance| write!(f, " ~ {tolerance}"))
    }
}

/// A literal; a `?` behind it is not its own.
fn without_question(input: ParseStream<'_>) -> Result<Expr> {
    if input.peek(Token![-]) {
        let op = UnOp::Neg(input.parse()?);
        let expr = Box::new(Expr::Lit(input.parse()?));
        return Ok(Expr::Unary(syn::ExprUnary { attrs: Vec::new(), op, expr }));
    }
    Ok(Expr::Lit(input.parse()?))
}

/// A number as it stands in a text: without the underscores of Rust's literals.
fn number(expression: &Expr) -> Result<String> {
    match expression {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) => Ok(int.base10_parse::<u64>()?.to_string()),
            Lit::Float(float) => {
                // As it was written: `1.0` is a float.
                float.base10_parse::<f64>()?;
                Ok(float.base10_digits().to_owned())
            }
            _ => Err(Error::new_spanned(expression, "expected a number")),
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            number(&unary.expr).map(|text| format!("-{text}"))
        }
        _ => Err(Error::new_spanned(expression, "expected a number")),
    }
}

/// A text in quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.extend(format!("\\u{{{:x}}}", u32::from(c)).chars()),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
