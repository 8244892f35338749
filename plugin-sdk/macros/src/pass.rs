//! The expansion of `#[pass]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, ItemFn, LitStr, Result, Token, parenthesized};

use crate::class::Class;
use crate::rules::{documentation, opsets};

struct Options {
    min: Expr,
    max: Expr,
    priority: Expr,
    after: bool,
    domains: Vec<(LitStr, Expr, Expr)>,
    class: Class,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self {
            min: syn::parse_quote!(0),
            max: syn::parse_quote!(u32::MAX),
            priority: syn::parse_quote!(0),
            after: false,
            domains: Vec::new(),
            class: Class::UNSTATED,
        };
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            if key == "domain" {
                let content;
                parenthesized!(content in input);
                let domain = content.parse()?;
                content.parse::<Token![,]>()?;
                let (min, max) = opsets(content.parse()?)?;
                options.domains.push((domain, min, max));
            } else {
                input.parse::<Token![=]>()?;
                options.option(&key, input)?;
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

impl Options {
    fn option(&mut self, key: &Ident, input: ParseStream<'_>) -> Result<()> {
        if key == "when" {
            let when: Ident = input.parse()?;
            self.after = match when.to_string().as_str() {
                "before_rules" => false,
                "after_rules" => true,
                _ => return Err(Error::new(when.span(), "expected `before_rules` or `after_rules`")),
            };
        } else if key == "opset" {
            (self.min, self.max) = opsets(input.parse()?)?;
        } else if key == "priority" {
            self.priority = input.parse()?;
        } else if key == "class" {
            self.class = Class::read(&input.parse()?)?;
        } else {
            return Err(Error::new(
                key.span(),
                "expected `class`, `opset`, `when`, `priority` or `domain(…)`",
            ));
        }
        Ok(())
    }
}

pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let Options { min, max, priority, after, domains, class } = syn::parse2(attribute)?;
    let class = class.record();
    let function: ItemFn = syn::parse2(item)?;
    let function_name = &function.sig.ident;
    let name = function_name.to_string();
    let documentation = documentation(&function.attrs);
    if documentation.is_empty() {
        return Err(Error::new(function_name.span(), "describe the pass in a doc comment"));
    }
    let when = u32::from(after);
    let domains = domains.iter().map(|(domain, min, max)| {
        quote! {
            ::onnxport_sdk::abi::pass::DomainRecord {
                domain: ::onnxport_sdk::text(#domain), min: #min, max: #max,
            }
        }
    });
    Ok(quote! {
        // The registration decides the result of a pass.
        #[allow(clippy::unnecessary_wraps)]
        #function

        ::onnxport_sdk::inventory::submit! {
            ::onnxport_sdk::Pass {
                module: module_path!(),
                record: ::onnxport_sdk::abi::pass::PassRecord {
                    name: ::onnxport_sdk::text(#name),
                    documentation: ::onnxport_sdk::text(#documentation),
                    min_opset: #min,
                    max_opset: #max,
                    priority: #priority,
                    when: #when,
                    domains: ::onnxport_sdk::list(&[#(#domains),*]),
                },
                class: #class,
                run: #function_name,
            }
        }
    })
}
