//! The expansion of `#[lowering]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, FnArg, Ident, ItemFn, Lit, LitStr, Pat, RangeLimits, Result, Token};

struct Attribute {
    targets: Vec<LitStr>,
    min: Expr,
    max: Expr,
    priority: Expr,
    complex: bool,
}

impl Parse for Attribute {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut parsed = Self {
            targets: Vec::new(),
            min: syn::parse_quote!(0),
            max: syn::parse_quote!(u32::MAX),
            priority: syn::parse_quote!(0),
            complex: false,
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
        input.parse::<Token![=]>()?;
        let value: Expr = input.parse()?;
        if key == "priority" {
            self.priority = value;
            return Ok(());
        }
        if key != "opset" {
            return Err(Error::new(key.span(), "expected `opset`, `priority` or `complex`"));
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
    let Attribute { targets, min, max, priority, complex } = syn::parse2(attribute)?;
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
    Ok(quote! {
        // The registration decides the parameters and the result of a lowering.
        #[allow(clippy::needless_pass_by_value, clippy::too_many_arguments, clippy::unnecessary_wraps)]
        #function

        const _: () = {
            fn lower(cx: &mut ::onnxport_sdk::Lower<'_>) -> ::onnxport_sdk::Res<()> {
                #(let #locals: #types = cx.argument(#names)?;)*
                let results = #name(cx, #(#locals),*)?;
                ::onnxport_sdk::Results::finish(results, cx)
            }
            ::onnxport_sdk::inventory::submit! {
                ::onnxport_sdk::Lowering {
                    module: module_path!(),
                    targets: &[#(#targets),*],
                    parameters: &[#(#names),*],
                    min_opset: #min,
                    max_opset: #max,
                    priority: #priority,
                    complex: #complex,
                    lower,
                }
            }
        };
    })
}
