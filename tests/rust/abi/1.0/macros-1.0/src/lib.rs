//! `#[lowering]` and `simple!`: registration of lowerings in one line each.

mod lowering;
mod simple;

use proc_macro::TokenStream;

/// Registers a function as the lowering of one or more operators.
///
/// ```ignore
/// #[lowering("aten.add.Tensor", "aten.add.Scalar")]
/// fn add(cx: &mut Lower, a: Operand, b: Operand, alpha: Scalar) -> Res<Value> { … }
/// ```
///
/// After the targets may stand `opset = 21..` (also `..=20`, `18..=20`), `priority = 5` and
/// `complex`. The first parameter is the context; every other one is read from the argument that
/// the operator's schema calls by the parameter's name. A parameter called `x`, `a` or `this` is the
/// first argument and one called `y` or `b` the second, unless the schema knows these names.
#[proc_macro_attribute]
pub fn lowering(attribute: TokenStream, item: TokenStream) -> TokenStream {
    lowering::expand(attribute.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Registers operators that are a single ONNX node over their tensor arguments.
///
/// ```ignore
/// simple! { "aten.relu.default" => Relu(self), "aten.tanh.default" => Tanh(self) }
/// ```
///
/// The arguments name those of the operator's schema, in the order of the node's inputs; they are
/// cast to the element type that the program states for the result (left as they are when that is
/// `bool`). `Op(self; axis = dim)` forms are not simple: write a `#[lowering]`.
#[proc_macro]
pub fn simple(item: TokenStream) -> TokenStream {
    simple::expand(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
