//! The attribute `#[test]` of `onnxport-harness`.

use proc_macro::TokenStream;
use quote::quote;
use syn::{Expr, ItemFn, Lit, Meta, MetaNameValue, parse_macro_input};

/// Makes a function without arguments a test, as Rust's own attribute does. `#[ignore = "why"]` below it is
/// understood; `#[should_panic]` is not, since it says too little: ask for the message.
#[proc_macro_attribute]
pub fn test(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut function = parse_macro_input!(item as ItemFn);
    if let Some(other) = function.attrs.iter().find(|a| a.path().is_ident("should_panic")) {
        return syn::Error::new_spanned(other, "catch the panic, and compare what it says")
            .into_compile_error()
            .into();
    }
    let at = function.attrs.iter().position(|attribute| attribute.path().is_ident("ignore"));
    let ignored = match at.map(|at| function.attrs.remove(at).meta) {
        None => false,
        Some(Meta::NameValue(MetaNameValue { value: Expr::Lit(reason), .. }))
            if matches!(reason.lit, Lit::Str(_)) =>
        {
            true
        }
        Some(other) => {
            let error = syn::Error::new_spanned(other, "say why: `#[ignore = \"…\"]`");
            return error.into_compile_error().into();
        }
    };
    let name = &function.sig.ident;
    let configured = function.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    quote! {
        #(#configured)*
        ::onnxport_harness::inventory::submit! {
            ::onnxport_harness::Test {
                name: concat!(module_path!(), "::", stringify!(#name)),
                ignored: #ignored,
                run: #name,
            }
        }
        #function
    }
    .into()
}
