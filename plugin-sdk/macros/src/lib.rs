//! `#[lowering]`, `simple!`, `rules!` and `#[pass]`: registration without glue.

mod class;
mod definition;
mod known;
mod lowering;
mod operators;
mod pass;
mod rules;
mod simple;

use proc_macro::TokenStream;

/// Registers a function as the lowering of one or more operators.
///
/// ```ignore
/// #[lowering("aten.add.Tensor", "aten.add.Scalar")]
/// fn add(cx: &Lower, a: Operand, b: Operand, alpha: Scalar) -> Res<Value> { … }
/// ```
///
/// After the targets may stand `opset = 21..` (also `..=20`, `18..=20`), `priority = 5`,
/// `complex`, if the lowering takes complex tensors only, and `parts`, if it is to be used for their
/// real and imaginary parts as well: the operator is linear in the first argument, and in those
/// of `parts(value, src)`; `multilinear`, if it is a product of all its tensors, is for their products.
/// The first parameter is the context; every other one is read from the argument that
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
/// `bool`). An operator that ONNX does not have fails to compile. `Op(self; axis = dim)` forms are not simple: write a `#[lowering]`.
#[proc_macro]
pub fn simple(item: TokenStream) -> TokenStream {
    simple::expand(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Registers rewrite rules. A rule is a doc comment, a name, a pattern and a replacement:
///
/// ```ignore
/// rules! {
///     /// Two transposes in a row are one.
///     transpose_transpose:
///         Transpose(Transpose(x, perm = p), perm = q) => Transpose(x, perm = compose(p, q));
///
///     /// Adding zeros of the same shape changes nothing.
///     add_zero (opset = 13.., priority = 1): commutative Add(x, 0) if keeps_shape(matched, x) => x;
///
///     /// A product with a constant and a sum are one operator.
///     linear: commutative Add(shared MatMul(x, const w), const b) => build_gemm;
/// }
/// ```
///
/// In a pattern, an operator has operands, then attributes:
///
/// | operand | matches |
/// |---|---|
/// | `x` | any value; the same one everywhere in the pattern |
/// | `const w` | the same, and an initializer |
/// | `x?` | an input that may be left out; `x` is an `Option` then |
/// | `_` | any value, which gets no name |
/// | `1.5` | a small constant that is 1.5 throughout |
/// | `Op(…)` | the output of a node; `Op(…).1` is its second output |
/// | `each(x)`, `each(x, y)` | the result of an elementwise operator on `x`, or of a broadcasting one on exactly these |
/// | `view(x)` | the result of an operator that only changes the shape of `x` |
/// | `reduce(x, axes)` | a reduction of `x` |
///
/// | attribute | matches |
/// |---|---|
/// | `perm = p` | any value, which `p` stands for; the same one everywhere in the pattern |
/// | `axis = 1` | this integer; also a float, a text, a list of numbers |
/// | `axis = 1?`, `perm = p?` | the same, or no such attribute |
///
/// Inputs and attributes that a pattern does not mention must not be there, unless `..` stands last. Before an operator
/// may stand `node @` (a name for the node), `commutative` (the first two operands may be swapped), `shared` (the
/// output of an inner node may have other readers) and `"domain"::`.
///
/// An operator that ONNX does not have fails to compile, in patterns and in replacements. `""::Name(…)` is not checked.
///
/// After the name may stand `(class = exact, opset = 18..=20, priority = 1)`. The class says how exact the rule is:
///
/// | class | results |
/// |---|---|
/// | `exact` | stay the same, bit for bit |
/// | `bounded(relative = 1e-6)` | differ by at most this part of the larger of 1 and their magnitude |
/// | `bounded(ulps = 4)` | differ by at most so many units in the last place of their type, or of 1 where they are smaller |
/// | `bounded(ulps = 4, finite)` | the same, as long as no value that goes in is infinite or NaN |
/// | `target("onnxruntime", ulps = 4)` | the same, and the operators are the target's own; exact without a bound |
///
/// Of two bounds the larger counts. A rule that says nothing may differ by anything: it does not run at
/// `--optimize 1`. `#![class = exact]` in front of all rules is the default.
///
/// After the pattern may stand `if` and a
/// condition, an expression over the pattern's names: a truth value, or a `Res` with a reason.
///
/// The replacement is an operator over the pattern's values, whose attributes are expressions; one of the values; a
/// block of code over `cx`, a `Rewrite`, that makes a value; or the name of a function `fn(&Rewrite<'h>) ->
/// Res<ValueRef<'h>>` (a `Vec` for several outputs).
#[proc_macro]
pub fn rules(item: TokenStream) -> TokenStream {
    rules::expand(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Registers a function as a pass over the graph.
///
/// ```ignore
/// /// Convolutions become products of matrices.
/// #[pass(class = exact, opset = 18..=23, when = before_rules, priority = 1, domain("com.microsoft", 1..=1))]
/// fn conv_to_matmul(cx: &Edit<'_>) -> Res<()> { … }
/// ```
///
/// Everything in the parentheses may be left out. Classes are those of [`rules!`].
#[proc_macro_attribute]
pub fn pass(attribute: TokenStream, item: TokenStream) -> TokenStream {
    pass::expand(attribute.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Expands to the SDK's types of operators. For the SDK itself.
#[doc(hidden)]
#[proc_macro]
pub fn operator_types(_item: TokenStream) -> TokenStream {
    definition::types().into()
}
