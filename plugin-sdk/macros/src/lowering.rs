//! The expansion of `#[lowering]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, FnArg, Ident, ItemFn, Lit, LitStr, Pat, RangeLimits, Result, Token, parenthesized};

struct Attribute {
    targets: Vec<LitStr>,
    min: Expr,
    max: Expr,
    priority: Expr,
    complex: bool,
    /// The names of linear arguments, if the lowering is used for parts of complex tensors as well.
    parts: Option<Vec<LitStr>>,
    /// Whether the lowering is used for the products of parts of complex tensors as well.
    multilinear: bool,
}

impl Parse for Attribute {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut parsed = Self {
            targets: Vec::new(),
            min: syn::parse_quote!(0),
            max: syn::parse_quote!(u32::MAX),
            priority: syn::parse_quote!(0),
            complex: false,
            parts: None,
            multilinear: false,
        };
        while !input.is_empty() {
            if input.peek(LitStr) {
                parsed.targets.push(input.parse()?);
            } else {
                parsed.option(input)?;
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        if parsed.targets.is_empty() {
            return Err(input.error("name at least one operator, such as \"aten.relu.default\""));
        }
        Ok(parsed)
    }
}

impl Attribute {
    fn option(&mut self, input: ParseStream<'_>) -> Result<()> {
        let key: Ident = input.parse()?;
        if key == "complex" {
            self.complex = true;
            return Ok(());
        }
        if key == "multilinear" {
            self.multilinear = true;
            return Ok(());
        }
        if key == "parts" {
            let mut names = Punctuated::<Ident, Token![,]>::new();
            if input.peek(syn::token::Paren) {
                let content;
                parenthesized!(content in input);
                names = Punctuated::parse_terminated_with(&content, Ident::parse_any)?;
            }
            self.parts = Some(names.iter().map(|n| LitStr::new(&n.unraw().to_string(), n.span())).collect());
            return Ok(());
        }
        input.parse::<Token![=]>()?;
        let value: Expr = input.parse()?;
        if key == "priority" {
            self.priority = value;
            return Ok(());
        }
        if key != "opset" {
            return Err(Error::new(
                key.span(),
                "expected `opset`, `priority`, `complex`, `parts` or `multilinear`",
            ));
        }
        match value {
            Expr::Range(range) => {
                if let Some(start) = range.start {
                    self.min = *start;
                }
                if let Some(end) = range.end {
                    let exclusive = matches!(range.limits, RangeLimits::HalfOpen(_));
                    self.max = if exclusive { syn::parse_quote!(#end - 1) } else { *end };
                }
            }
            Expr::Lit(lit) if matches!(lit.lit, Lit::Int(_)) => {
                self.min = Expr::Lit(lit.clone());
                self.max = Expr::Lit(lit);
            }
            other => return Err(Error::new_spanned(other, "expected a range of opsets, `21..`")),
        }
        Ok(())
    }
}

pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let Attribute { targets, min, max, priority, complex, parts, multilinear } = syn::parse2(attribute)?;
    let function: ItemFn = syn::parse2(item)?;
    let name = &function.sig.ident;
    let mut inputs = function.sig.inputs.iter();
    if inputs.next().is_none() {
        return Err(Error::new_spanned(&function.sig, "the first parameter is `cx: &Lower`"));
    }
    let mut names = Vec::new();
    let mut types = Vec::new();
    for input in inputs {
        let FnArg::Typed(typed) = input else {
            return Err(Error::new_spanned(input, "a lowering is a free function"));
        };
        let Pat::Ident(pattern) = &*typed.pat else {
            return Err(Error::new_spanned(&typed.pat, "a parameter needs a name"));
        };
        let text = pattern.ident.to_string();
        names.push(text.trim_start_matches("r#").trim_start_matches('_').to_owned());
        types.push(&typed.ty);
    }
    let locals: Vec<Ident> = (0..names.len()).map(|i| quote::format_ident!("argument_{i}")).collect();
    let submission = |complex: bool, lower: TokenStream| {
        quote! {
            ::onnxport_sdk::inventory::submit! {
                ::onnxport_sdk::Lowering {
                    module: module_path!(),
                    targets: &[#(#targets),*],
                    parameters: &[#(#names),*],
                    min_opset: #min,
                    max_opset: #max,
                    priority: #priority,
                    complex: #complex,
                    lower: |cx| #lower,
                }
            }
        }
    };
    let whole = submission(
        complex,
        quote!(values(cx).and_then(|results| ::onnxport_sdk::Results::finish(results, cx))),
    );
    let by_parts =
        parts.map(|linear| submission(true, quote!(::onnxport_sdk::by_parts(cx, &[#(#linear),*], values))));
    let by_products = multilinear.then(|| submission(true, quote!(::onnxport_sdk::by_products(cx, values))));
    Ok(quote! {
        // The registration decides the parameters and the result of a lowering.
        #[allow(clippy::needless_pass_by_value, clippy::too_many_arguments, clippy::unnecessary_wraps)]
        #function

        const _: () = {
            fn values(cx: &mut ::onnxport_sdk::Lower<'_>) -> ::onnxport_sdk::Res<Vec<Option<::onnxport_sdk::Value>>> {
                #(let #locals: #types = cx.argument(#names)?;)*
                Ok(::onnxport_sdk::Results::values(#name(cx, #(#locals),*)?))
            }
            #whole
            #by_parts
            #by_products
        };
    })
}
