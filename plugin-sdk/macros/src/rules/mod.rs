//! The expansion of `rules!`.

mod names;
mod pattern;
mod template;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, Ident, Lit, Meta, RangeLimits, Result, Token, parenthesized};

use crate::class::Class;
use names::{Bound, Names};
use pattern::Pattern;
use template::Template;

struct Rule {
    documentation: String,
    name: Ident,
    options: Options,
    pattern: Pattern,
    condition: Option<Expr>,
    template: Template,
}

struct Options {
    min: Expr,
    max: Expr,
    priority: Expr,
    class: Option<Class>,
}

struct Rules(Vec<Rule>);

impl Parse for Rules {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut class = None;
        for attribute in input.call(Attribute::parse_inner)? {
            match &attribute.meta {
                Meta::NameValue(pair) if pair.path.is_ident("class") => {
                    class = Some(Class::read(&pair.value)?);
                }
                other => return Err(Error::new_spanned(other, "expected `#![class = exact]`")),
            }
        }
        let mut rules: Vec<Rule> =
            Punctuated::<Rule, Token![;]>::parse_terminated(input)?.into_iter().collect();
        for rule in &mut rules {
            rule.options.class = rule.options.class.take().or_else(|| class.clone());
        }
        Ok(Self(rules))
    }
}

impl Parse for Rule {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let documentation = documentation(&input.call(Attribute::parse_outer)?);
        let name: Ident = input.parse()?;
        let mut options = Options {
            min: syn::parse_quote!(0),
            max: syn::parse_quote!(u32::MAX),
            priority: syn::parse_quote!(0),
            class: None,
        };
        if input.peek(syn::token::Paren) {
            let content;
            parenthesized!(content in input);
            options.read(&content)?;
        }
        input.parse::<Token![:]>()?;
        let pattern = input.parse()?;
        let condition = if input.peek(Token![if]) {
            input.parse::<Token![if]>()?;
            Some(input.parse()?)
        } else {
            None
        };
        input.parse::<Token![=>]>()?;
        Ok(Self { documentation, name, options, pattern, condition, template: input.parse()? })
    }
}

impl Rule {
    /// Whether this rule applies wherever `later`, which follows it, matches.
    fn shadows(&self, later: &Self) -> bool {
        let text = |option: &Expr| quote!(#option).to_string();
        let (a, b) = (&self.options, &later.options);
        let same = text(&a.priority) == text(&b.priority)
            && text(&a.min) == text(&b.min)
            && text(&a.max) == text(&b.max);
        let never_refuses =
            || Names::from_pattern(&self.pattern).is_ok_and(|names| self.template.never_refuses(&names));
        same && self.condition.is_none()
            && onnxport_pattern::shadows(&self.pattern.syntax, &later.pattern.syntax)
            && never_refuses()
    }
}

impl Options {
    fn read(&mut self, input: ParseStream<'_>) -> Result<()> {
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let value: Expr = input.parse()?;
            if key == "priority" {
                self.priority = value;
            } else if key == "opset" {
                (self.min, self.max) = opsets(value)?;
            } else if key == "class" {
                self.class = Some(Class::read(&value)?);
            } else {
                return Err(Error::new(key.span(), "expected `class`, `opset` or `priority`"));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    }
}

/// The lowest and highest opset of `21..`, `..=20`, `18..=20` or `20`.
pub(crate) fn opsets(value: Expr) -> Result<(Expr, Expr)> {
    match value {
        Expr::Range(range) => {
            let min = range.start.map_or_else(|| syn::parse_quote!(0), |start| *start);
            let exclusive = matches!(range.limits, RangeLimits::HalfOpen(_));
            let max = match range.end {
                Some(end) if exclusive => syn::parse_quote!(#end - 1),
                Some(end) => *end,
                None => syn::parse_quote!(u32::MAX),
            };
            Ok((min, max))
        }
        Expr::Lit(lit) if matches!(lit.lit, Lit::Int(_)) => Ok((Expr::Lit(lit.clone()), Expr::Lit(lit))),
        other => Err(Error::new_spanned(other, "expected a range of opsets, `21..`")),
    }
}

/// The first paragraph of documentation comments, in one line.
pub(crate) fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

pub(crate) fn expand(item: TokenStream) -> Result<TokenStream> {
    let Rules(rules) = syn::parse2(item)?;
    for (at, rule) in rules.iter().enumerate() {
        if let Some(first) = rules[..at].iter().find(|first| first.shadows(rule)) {
            let message =
                format!("`{}` is never tried: `{}` matches wherever it does", rule.name, first.name);
            return Err(Error::new(rule.name.span(), message));
        }
    }
    let expanded: Vec<TokenStream> =
        rules.iter().zip(0..).map(|(rule, position)| expand_rule(rule, position)).collect::<Result<_>>()?;
    Ok(quote! { #(#expanded)* })
}

fn expand_rule(rule: &Rule, position: u32) -> Result<TokenStream> {
    let names = Names::from_pattern(&rule.pattern)?;
    if rule.documentation.is_empty() {
        return Err(Error::new(rule.name.span(), "describe the rule in a doc comment"));
    }
    let (name, documentation) = (rule.name.to_string(), &rule.documentation);
    let pattern = rule.pattern.syntax.to_string();
    let Options { min, max, priority, class } = &rule.options;
    let class = class.as_ref().unwrap_or(&Class::UNSTATED).record();
    let matched = Ident::new("matched", Span::call_site());
    let bindings = names.bindings(&quote!(#matched));
    let (condition, flags) = match &rule.condition {
        None => (quote!(None), quote!(0)),
        Some(expression) => {
            let text = quote!(#expression).to_string();
            let condition = quote! {{
                #[allow(unused_braces, unused_variables, non_snake_case)]
                fn condition(#matched: &::onnxport_sdk::Matched<'_>) -> ::onnxport_sdk::Res<()> {
                    #bindings
                    ::onnxport_sdk::Verdict::verdict(#expression, #text)
                }
                Some(condition as fn(&::onnxport_sdk::Matched<'_>) -> ::onnxport_sdk::Res<()>)
            }};
            (condition, quote!(::onnxport_sdk::abi::rules::rule_flags::CONDITION))
        }
    };
    let cx = Ident::new("cx", Span::call_site());
    let replacement = rule.template.expand(&names, &cx)?;
    let list = |wanted: fn(Bound) -> bool| {
        let names = names.of_kind(wanted);
        quote!(::onnxport_sdk::list(&[#(::onnxport_sdk::text(#names)),*]))
    };
    let nodes = list(|bound| matches!(bound, Bound::Node(_)));
    let values = list(|bound| bound == Bound::Value);
    let dims = list(|bound| bound == Bound::Extent);
    let attributes = list(|bound| bound == Bound::Attribute);
    Ok(quote! {
        const _: () = {
            #[allow(unused_braces, unused_variables, non_snake_case)]
            fn build<'h>(
                #cx: &::onnxport_sdk::Rewrite<'h>,
            ) -> ::onnxport_sdk::Res<::std::vec::Vec<::std::option::Option<::onnxport_sdk::ValueRef<'h>>>> {
                let #matched = #cx.matched();
                #bindings
                ::onnxport_sdk::Replacement::outputs(#replacement)
            }
            ::onnxport_sdk::inventory::submit! {
                ::onnxport_sdk::Rule {
                    module: module_path!(),
                    place: (file!(), line!(), #position),
                    record: ::onnxport_sdk::abi::rules::RuleText {
                        name: ::onnxport_sdk::text(#name),
                        documentation: ::onnxport_sdk::text(#documentation),
                        pattern: ::onnxport_sdk::text(#pattern),
                        min_opset: #min,
                        max_opset: #max,
                        priority: #priority,
                        flags: #flags,
                        nodes: #nodes,
                        values: #values,
                        dims: #dims,
                        attributes: #attributes,
                    },
                    class: #class,
                    condition: #condition,
                    build,
                }
            }
        };
    })
}
