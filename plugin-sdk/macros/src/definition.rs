//! The definitions of operators, and the types that the SDK has for them.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::operators::{OPERATORS, RUNTIME};

/// An operator of ONNX's own domain, or of ONNX Runtime's.
pub(crate) struct Operator {
    pub(crate) name: &'static str,
    /// The names of its inputs, as the documentation lists them: `X, W, B?`.
    pub(crate) inputs: &'static str,
    /// The attributes that any version from opset 11 on has, sorted by name.
    pub(crate) attributes: &'static [Attribute],
}

/// An attribute of an operator.
pub(crate) struct Attribute {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The default of the newest version, as text.
    pub(crate) default: Option<&'static str>,
}

/// The type of an attribute.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Int,
    Float,
    Str,
    Ints,
    Floats,
    Strs,
    Tensor,
    Block,
}

/// The operator `name` of ONNX's own domain.
pub(crate) fn find(name: &str) -> Option<&'static Operator> {
    let at = OPERATORS.binary_search_by(|operator| operator.name.cmp(name)).ok()?;
    OPERATORS.get(at)
}

/// The operator `name` of ONNX Runtime's domain, if its definition is known.
pub(crate) fn find_runtime(name: &str) -> Option<&'static Operator> {
    RUNTIME.iter().find(|operator| operator.name == name)
}

/// ONNX Runtime's own domain, and the version that models import.
pub(crate) const MICROSOFT: (&str, i64) = ("com.microsoft", 1);

/// Expands to a type for each operator, which names it in the SDK, with methods for its attributes.
pub(crate) fn types() -> TokenStream {
    let own = OPERATORS.iter().map(|operator| {
        let name = operator.name;
        type_of(operator, &format!("https://onnx.ai/onnx/operators/onnx__{name}.html"), &TokenStream::new())
    });
    let (domain, version) = MICROSOFT;
    let place = quote! {
        fn domain(self) -> &'a str {
            #domain
        }

        fn version(self) -> i64 {
            #version
        }
    };
    let page = "https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md";
    let runtime = RUNTIME
        .iter()
        .map(|operator| type_of(operator, &format!("{page}#{domain}.{}", operator.name), &place));
    quote! {
        #(#own)*

        /// Operators of ONNX Runtime's own domain, `com.microsoft`: those that its optimizer writes, and those that rules and
        /// quantization emit. Other operators of the domain have no type.
        pub mod microsoft {
            use super::*;

            #(#runtime)*
        }
    }
}

/// The type of an operator that is documented at `page`; `place` has the methods for its domain.
fn type_of(operator: &Operator, page: &str, place: &TokenStream) -> TokenStream {
    let Operator { name, inputs, attributes } = operator;
    let ty = format_ident!("{name}");
    let inputs =
        if inputs.is_empty() { "It has no inputs.".to_owned() } else { format!("Inputs: `{inputs}`.") };
    let doc = format!("[`{name}`]({page}). {inputs}");
    let setters = attributes.iter().filter(|attribute| !matches!(attribute.kind, Kind::Block)).map(setter);
    let blocks = attributes.iter().filter(|attribute| matches!(attribute.kind, Kind::Block)).map(setter);
    let getters = attributes.iter().filter_map(getter);
    quote! {
        #[doc = #doc]
        #[derive(Clone, Copy, Debug)]
        pub struct #ty;

        impl<'a> Operator<'a> for #ty {
            fn name(self) -> &'a str {
                #name
            }

            #place
        }

        impl<'a, E: Emit> NodeBuilder<'_, 'a, E, #ty> {
            #(#setters)*
        }

        impl NodeBuilder<'_, '_, Lower<'_>, #ty> {
            #(#blocks)*
        }

        impl View<'_, #ty> {
            #(#getters)*
        }
    }
}

/// `axis` of `Softmax` becomes `axis`, `transA` becomes `trans_a`, and `K` becomes `k`.
fn method(attribute: &Attribute) -> syn::Ident {
    let mut name = String::new();
    for letter in attribute.name.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    format_ident!("{name}")
}

fn setter(attribute: &Attribute) -> TokenStream {
    let (name, method) = (attribute.name, method(attribute));
    let doc = format!("Sets the attribute `{name}`{}.", stated(attribute.default));
    let (ty, value) = match attribute.kind {
        Kind::Int => (quote!(impl Into<i64>), quote!(Attr::Int(value.into()))),
        Kind::Float => (quote!(impl Into<f64>), quote!(Attr::Float(value.into() as f32))),
        Kind::Str => (quote!(&'a str), quote!(Attr::Str(value.into()))),
        Kind::Ints => (quote!(impl Into<Cow<'a, [i64]>>), quote!(Attr::Ints(value.into()))),
        Kind::Floats => (quote!(impl Into<Cow<'a, [f32]>>), quote!(Attr::Floats(value.into()))),
        Kind::Strs => (quote!(&'a [&'a str]), quote!(Attr::texts_of(value))),
        Kind::Tensor => (quote!(E::Value), quote!(Attr::Tensor(value))),
        Kind::Block => (quote!(Block), quote!(Attr::Block(value))),
    };
    quote! {
        #[doc = #doc]
        #[inline]
        pub fn #method(self, value: #ty) -> Self {
            self.attribute(#name, #value)
        }
    }
}

fn getter(attribute: &Attribute) -> Option<TokenStream> {
    let (name, method) = (attribute.name, method(attribute));
    let doc = format!("The attribute `{name}`{}.", stated(attribute.default));
    let (ty, read) = match attribute.kind {
        Kind::Int => (quote!(i64), quote!(int)),
        Kind::Float => (quote!(f32), quote!(float)),
        Kind::Str => (quote!(String), quote!(str)),
        Kind::Ints => (quote!(Vec<i64>), quote!(ints)),
        Kind::Floats | Kind::Strs | Kind::Tensor | Kind::Block => return None,
    };
    Some(quote! {
        #[doc = #doc]
        pub fn #method(self) -> Option<#ty> {
            self.node().#read(#name)
        }
    })
}

fn stated(default: Option<&str>) -> String {
    default.map_or_else(String::new, |default| format!(" (default `{default}`)"))
}
