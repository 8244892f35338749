//! Patterns: their grammar, and the flat records that cross to the host.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, Lit, LitInt, LitStr, Result, Token, UnOp, parenthesized, token};

/// `name @ shared commutative "domain"::Op(operands, attribute = value, ..).output`
pub(super) struct Pattern {
    name: Option<Ident>,
    shared: bool,
    commutative: bool,
    domain: String,
    op: Ident,
    operands: Vec<Operand>,
    attributes: Vec<Attribute>,
    open: bool,
    output: u32,
}

enum Operand {
    Any(bool),
    Variable { name: Ident, constant: bool, optional: bool },
    Number(f64),
    Node(Box<Pattern>),
}

struct Attribute {
    name: Ident,
    value: AttributeValue,
    optional: bool,
}

enum AttributeValue {
    Capture(Ident),
    Int(i64),
    Float(f64),
    Str(String),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

impl Parse for Pattern {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut name = None;
        if input.peek2(Token![@]) {
            name = Some(input.parse()?);
            input.parse::<Token![@]>()?;
        }
        let (mut shared, mut commutative) = (false, false);
        // A keyword stands before an operator or a domain.
        while input.peek(Ident) && (input.peek2(Ident) || input.peek2(LitStr)) {
            let keyword: Ident = input.parse()?;
            match keyword.to_string().as_str() {
                "shared" => shared = true,
                "commutative" => commutative = true,
                _ => {
                    return Err(Error::new(
                        keyword.span(),
                        "expected `shared`, `commutative` or an operator",
                    ));
                }
            }
        }
        let domain = domain(input)?;
        let op = input.parse()?;
        let content;
        parenthesized!(content in input);
        let mut pattern = Self {
            name,
            shared,
            commutative,
            domain,
            op,
            operands: Vec::new(),
            attributes: Vec::new(),
            open: false,
            output: 0,
        };
        pattern.parts(&content)?;
        if input.peek(Token![.]) {
            input.parse::<Token![.]>()?;
            pattern.output = input.parse::<LitInt>()?.base10_parse()?;
        }
        if pattern.commutative && pattern.operands.len() < 2 {
            return Err(Error::new(pattern.op.span(), "a commutative operator has two operands"));
        }
        Ok(pattern)
    }
}

/// `"com.microsoft"::`, or nothing for ONNX's own operators.
pub(super) fn domain(input: ParseStream<'_>) -> Result<String> {
    if !input.peek(LitStr) {
        return Ok(String::new());
    }
    let domain: LitStr = input.parse()?;
    input.parse::<Token![::]>()?;
    Ok(domain.value())
}

impl Pattern {
    fn parts(&mut self, input: ParseStream<'_>) -> Result<()> {
        while !input.is_empty() {
            if input.peek(Token![..]) {
                input.parse::<Token![..]>()?;
                self.open = true;
            } else if input.peek(Ident::peek_any) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
                self.attributes.push(input.parse()?);
            } else if self.attributes.is_empty() {
                self.operands.push(input.parse()?);
            } else {
                return Err(input.error("operands stand before attributes"));
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

fn question(input: ParseStream<'_>) -> Result<bool> {
    let optional = input.peek(Token![?]);
    if optional {
        input.parse::<Token![?]>()?;
    }
    Ok(optional)
}

impl Parse for Operand {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(Token![_]) {
            input.parse::<Token![_]>()?;
            return Ok(Self::Any(question(input)?));
        }
        if input.peek(Token![const]) {
            input.parse::<Token![const]>()?;
            let name = input.parse()?;
            return Ok(Self::Variable { name, constant: true, optional: question(input)? });
        }
        if input.peek(Lit) && !input.peek(LitStr) || input.peek(Token![-]) {
            return Ok(Self::Number(number(&input.parse()?)?));
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
        Ok(Self::Variable { name, constant: false, optional: question(input)? })
    }
}

impl Parse for Attribute {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = input.call(Ident::parse_any)?;
        input.parse::<Token![=]>()?;
        let value = if input.peek(Ident) {
            AttributeValue::Capture(input.parse()?)
        } else {
            literal(&input.call(without_question)?)?
        };
        Ok(Self { name, value, optional: question(input)? })
    }
}

/// A literal; a `?` behind it is not its own.
fn without_question(input: ParseStream<'_>) -> Result<Expr> {
    if input.peek(token::Bracket) {
        let content;
        let bracket_token = syn::bracketed!(content in input);
        let elems = content.parse_terminated(Expr::parse, Token![,])?;
        return Ok(Expr::Array(syn::ExprArray { attrs: Vec::new(), bracket_token, elems }));
    }
    if input.peek(Token![-]) {
        let op = UnOp::Neg(input.parse()?);
        let expr = Box::new(Expr::Lit(input.parse()?));
        return Ok(Expr::Unary(syn::ExprUnary { attrs: Vec::new(), op, expr }));
    }
    Ok(Expr::Lit(input.parse()?))
}

fn literal(expression: &Expr) -> Result<AttributeValue> {
    match expression {
        Expr::Array(array) => {
            let ints: Result<Vec<i64>> = array.elems.iter().map(int).collect();
            match ints {
                Ok(ints) => Ok(AttributeValue::Ints(ints)),
                Err(_) => Ok(AttributeValue::Floats(array.elems.iter().map(number).collect::<Result<_>>()?)),
            }
        }
        Expr::Lit(lit) if matches!(lit.lit, Lit::Str(_)) => match &lit.lit {
            Lit::Str(text) => Ok(AttributeValue::Str(text.value())),
            _ => Err(Error::new_spanned(expression, "expected a text")),
        },
        _ => match int(expression) {
            Ok(int) => Ok(AttributeValue::Int(int)),
            Err(_) => Ok(AttributeValue::Float(number(expression)?)),
        },
    }
}

fn int(expression: &Expr) -> Result<i64> {
    match expression {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) => int.base10_parse(),
            _ => Err(Error::new_spanned(expression, "expected an integer")),
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => int(&unary.expr).map(|n| -n),
        _ => Err(Error::new_spanned(expression, "expected an integer")),
    }
}

fn number(expression: &Expr) -> Result<f64> {
    match expression {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) => int.base10_parse(),
            Lit::Float(float) => float.base10_parse(),
            _ => Err(Error::new_spanned(expression, "expected a number")),
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => number(&unary.expr).map(|n| -n),
        _ => Err(Error::new_spanned(expression, "expected a number")),
    }
}

/// A variable of a rule.
struct Variable {
    name: Ident,
    /// Whether some place of it may be left out.
    optional: bool,
}

/// A pattern as flat tables.
#[derive(Default)]
pub(super) struct Flat {
    nodes: Vec<TokenStream>,
    operands: Vec<TokenStream>,
    attributes: Vec<TokenStream>,
    variables: Vec<Variable>,
    /// With the node and the attribute that a capture is read from.
    captures: Vec<(Ident, usize, String)>,
    names: Vec<(Ident, usize)>,
}

/// What a name of a pattern stands for.
pub(super) enum Bound {
    Value { optional: bool },
    Attribute,
    Node,
}

impl Flat {
    pub(super) fn of(pattern: &Pattern) -> Result<Self> {
        let mut flat = Self::default();
        // Nodes get their numbers before those below them, so that indices grow downwards.
        let mut waiting = std::collections::VecDeque::from([pattern]);
        let mut next = 1;
        let mut index = 0;
        while let Some(node) = waiting.pop_front() {
            flat.node(node, index, &mut next, &mut waiting)?;
            index += 1;
        }
        let mut seen: Vec<&Ident> = Vec::new();
        let variables = flat.variables.iter().map(|v| &v.name);
        let names = flat.captures.iter().map(|c| &c.0).chain(flat.names.iter().map(|n| &n.0));
        for name in variables.chain(names) {
            if seen.contains(&name) {
                return Err(Error::new(name.span(), "the name stands for two kinds of things"));
            }
            seen.push(name);
        }
        Ok(flat)
    }

    fn node<'p>(
        &mut self,
        pattern: &'p Pattern,
        index: usize,
        next: &mut usize,
        waiting: &mut std::collections::VecDeque<&'p Pattern>,
    ) -> Result<()> {
        let (domain, op) = (&pattern.domain, pattern.op.to_string());
        let (first_operand, operands) = (self.operands.len() as u32, pattern.operands.len() as u32);
        let (first_attribute, attributes) = (self.attributes.len() as u32, pattern.attributes.len() as u32);
        let flag = |on: bool, bit: u32| if on { bit } else { 0 };
        // The bits of `node_flags`.
        let flags = flag(pattern.commutative, 1) | flag(pattern.open, 2) | flag(pattern.shared, 4);
        let output = pattern.output;
        self.nodes.push(quote! {
            ::onnxport_sdk::abi::rules::PatternNode {
                domain: ::onnxport_sdk::text(#domain),
                op: ::onnxport_sdk::text(#op),
                first_operand: #first_operand,
                operands: #operands,
                first_attribute: #first_attribute,
                attributes: #attributes,
                output: #output,
                flags: #flags,
            }
        });
        if let Some(name) = &pattern.name {
            if self.names.iter().any(|(other, _)| other == name) {
                return Err(Error::new(name.span(), "two nodes have this name"));
            }
            self.names.push((name.clone(), index));
        }
        for operand in &pattern.operands {
            let (kind, to, optional, number) = match operand {
                Operand::Any(optional) => (0_u32, 0, *optional, 0.0),
                Operand::Variable { name, constant, optional } => {
                    (if *constant { 2 } else { 1 }, self.variable(name, *optional), *optional, 0.0)
                }
                Operand::Node(inner) => {
                    waiting.push_back(inner);
                    *next += 1;
                    (3, *next as u32 - 1, false, 0.0)
                }
                Operand::Number(number) => (4, 0, false, *number),
            };
            let optional = u32::from(optional);
            self.operands.push(quote! {
                ::onnxport_sdk::abi::rules::PatternOperand {
                    kind: #kind, index: #to, optional: #optional, number: #number,
                }
            });
        }
        for attribute in &pattern.attributes {
            self.attribute(attribute, index);
        }
        Ok(())
    }

    fn variable(&mut self, name: &Ident, optional: bool) -> u32 {
        if let Some(position) = self.variables.iter().position(|v| v.name == *name) {
            self.variables[position].optional |= optional;
            return position as u32;
        }
        self.variables.push(Variable { name: name.clone(), optional });
        self.variables.len() as u32 - 1
    }

    fn attribute(&mut self, attribute: &Attribute, node: usize) {
        let name = attribute.name.unraw().to_string();
        let optional = u32::from(attribute.optional);
        let none = (quote!(&[]), quote!(&[]), String::new());
        let (kind, index, (ints, floats, text)) = match &attribute.value {
            AttributeValue::Capture(variable) => {
                let known = self.captures.iter().position(|(other, ..)| other == variable);
                let position = known.unwrap_or_else(|| {
                    self.captures.push((variable.clone(), node, name.clone()));
                    self.captures.len() - 1
                });
                (0_u32, position as u32, none)
            }
            AttributeValue::Int(n) => (1, 0, (quote!(&[#n]), none.1, none.2)),
            AttributeValue::Float(x) => {
                let x = *x as f32;
                (2, 0, (none.0, quote!(&[#x]), none.2))
            }
            AttributeValue::Str(text) => (3, 0, (none.0, none.1, text.clone())),
            AttributeValue::Ints(ints) => (4, 0, (quote!(&[#(#ints),*]), none.1, none.2)),
            AttributeValue::Floats(floats) => {
                let floats = floats.iter().map(|x| *x as f32);
                (5, 0, (none.0, quote!(&[#(#floats),*]), none.2))
            }
        };
        self.attributes.push(quote! {
            ::onnxport_sdk::abi::rules::PatternAttribute {
                name: ::onnxport_sdk::text(#name),
                kind: #kind,
                index: #index,
                optional: #optional,
                ints: ::onnxport_sdk::list(#ints),
                floats: ::onnxport_sdk::list(#floats),
                text: ::onnxport_sdk::text(#text),
            }
        });
    }

    /// The fields of the record that hold the pattern.
    pub(super) fn records(&self) -> TokenStream {
        let Self { nodes, operands, attributes, .. } = self;
        let variables = self.variables.iter().map(|v| v.name.to_string());
        let captures = self.captures.iter().map(|c| c.0.to_string());
        quote! {
            nodes: ::onnxport_sdk::list(&[#(#nodes),*]),
            operands: ::onnxport_sdk::list(&[#(#operands),*]),
            attributes: ::onnxport_sdk::list(&[#(#attributes),*]),
            variables: ::onnxport_sdk::list(&[#(::onnxport_sdk::text(#variables)),*]),
            captures: ::onnxport_sdk::list(&[#(::onnxport_sdk::text(#captures)),*]),
        }
    }

    /// What `Rule::captures` holds.
    pub(super) fn captures(&self) -> Vec<TokenStream> {
        let entry = |(_, node, name): &(Ident, usize, String)| {
            let node = *node as u32;
            quote!((#node, #name))
        };
        self.captures.iter().map(entry).collect()
    }

    /// What `Rule::nodes` holds.
    pub(super) fn named_nodes(&self) -> Vec<TokenStream> {
        let entry = |(name, node): &(Ident, usize)| {
            let (name, node) = (name.to_string(), *node as u32);
            quote!((#name, #node))
        };
        self.names.iter().map(entry).collect()
    }

    /// Statements that bind every name of the pattern.
    pub(super) fn bindings(&self, matched: &TokenStream) -> TokenStream {
        let variables = self.variables.iter().map(|Variable { name, optional }| {
            let text = name.to_string();
            if *optional {
                quote!(let #name = #matched.maybe(#text);)
            } else {
                quote!(let #name = #matched.value(#text)?;)
            }
        });
        let captures = self
            .captures
            .iter()
            .enumerate()
            .map(|(index, (name, ..))| quote!(let #name = &#matched.attribute_at(#index);));
        let nodes = self.names.iter().map(|(name, _)| {
            let text = name.to_string();
            quote!(let #name = #matched.node(#text)?;)
        });
        quote!(#(#variables)* #(#captures)* #(#nodes)*)
    }

    /// What `name` stands for.
    pub(super) fn bound(&self, name: &Ident) -> Option<Bound> {
        if let Some(variable) = self.variables.iter().find(|v| v.name == *name) {
            return Some(Bound::Value { optional: variable.optional });
        }
        if self.captures.iter().any(|c| c.0 == *name) {
            return Some(Bound::Attribute);
        }
        self.names.iter().any(|n| n.0 == *name).then_some(Bound::Node)
    }
}
