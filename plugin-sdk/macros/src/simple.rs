//! The expansion of `simple!`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, LitStr, Result, Token, parenthesized};

use crate::known;

struct Rule {
    target: LitStr,
    op: Ident,
    arguments: Punctuated<Name, Token![,]>,
}

struct Name(Ident);

impl Parse for Name {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        Ident::parse_any(input).map(Self)
    }
}

impl Parse for Rule {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let target = input.parse()?;
        input.parse::<Token![=>]>()?;
        let op = input.parse()?;
        known::operator(&op)?;
        let content;
        parenthesized!(content in input);
        Ok(Self { target, op, arguments: Punctuated::parse_terminated(&content)? })
    }
}

struct Rules(Punctuated<Rule, Token![,]>);

impl Parse for Rules {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        Punctuated::parse_terminated(input).map(Self)
    }
}

pub(crate) fn expand(item: TokenStream) -> Result<TokenStream> {
    let Rules(rules) = syn::parse2(item)?;
    let submissions = rules.iter().map(|Rule { target, op, arguments }| {
        let names: Vec<String> = arguments.iter().map(|n| n.0.to_string()).collect();
        quote! {
            const _: () = {
                fn lower(cx: &mut ::onnxport_sdk::Lower<'_>) -> ::onnxport_sdk::Res<()> {
                    ::onnxport_sdk::simple(cx, ::onnxport_sdk::op::#op, &[#(#names),*])
                }
                ::onnxport_sdk::inventory::submit! {
                    ::onnxport_sdk::Lowering {
                        module: module_path!(),
                        targets: &[#target],
                        parameters: &[#(#names),*],
                        min_opset: 0,
                        max_opset: u32::MAX,
                        priority: 0,
                        complex: false,
                        lower,
                    }
                }
            };
        }
    });
    Ok(quote! { #(#submissions)* })
}
