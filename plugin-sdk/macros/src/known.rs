//! Names of operators, which are checked where they are written.

use proc_macro2::Span;
use syn::{Error, Ident, Result};

use crate::definition::{MICROSOFT, Operator, find, find_runtime};
use crate::operators::{OPERATORS, RUNTIME_NAMES};

/// Classes of operators that a pattern may name in the place of one.
const CLASSES: [&str; 3] = ["each", "view", "reduce"];

/// Fails at `op` unless ONNX's own domain has such an operator.
pub(crate) fn operator(op: &Ident) -> Result<&'static Operator> {
    let name = op.to_string();
    if let Some(operator) = find(&name) {
        return Ok(operator);
    }
    let hint = near(&name, OPERATORS.iter().map(|known| known.name));
    let message = format!(
        "ONNX has no operator `{name}`.{hint} Write `\"domain\"::{name}` for an operator of another domain, and \
         `\"\"::{name}` for one that ONNX has not had so far."
    );
    Err(Error::new(op.span(), message))
}

/// The same, where a class of operators may stand as well; `None` for a class.
pub(crate) fn operator_or_class(op: &Ident) -> Result<Option<&'static Operator>> {
    if CLASSES.iter().any(|class| op == class) { Ok(None) } else { operator(op).map(Some) }
}

/// The operator `op` of another domain, if its definition is known. Fails at a name that ONNX Runtime does not have, and that
/// differs from one that it has in two letters at most; other names may be those of later releases.
pub(crate) fn foreign(domain: &str, op: &Ident) -> Result<Option<&'static Operator>> {
    let name = op.to_string();
    if domain != MICROSOFT.0 || RUNTIME_NAMES.contains(&name.as_str()) {
        return Ok(find_runtime(&name).filter(|_| domain == MICROSOFT.0));
    }
    match near(&name, RUNTIME_NAMES.iter().copied()) {
        hint if hint.is_empty() => Ok(None),
        hint => Err(Error::new(op.span(), format!("`{domain}` has no operator `{name}`.{hint}"))),
    }
}

/// Fails at `span` unless `operator` has the attribute `name`.
pub(crate) fn attribute(operator: &Operator, name: &str, span: Span) -> Result<()> {
    if operator.attributes.iter().any(|known| known.name == name) {
        return Ok(());
    }
    let hint = near(name, operator.attributes.iter().map(|known| known.name));
    let message = format!("`{}` has no attribute `{name}`.{hint}", operator.name);
    Err(Error::new(span, message))
}

/// ` Did you mean …?`, if one of `known` differs from `name` in two letters at most.
fn near(name: &str, known: impl Iterator<Item = &'static str>) -> String {
    let near = known.min_by_key(|known| distance(name, known));
    let near = near.filter(|known| distance(name, known) <= 2);
    near.map_or_else(String::new, |known| format!(" Did you mean `{known}`?"))
}

/// How many letters have to be changed, added or left out to make one name of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;
    use quote::quote;

    use crate::{rules, simple};

    fn rule(of: TokenStream) -> Result<(), String> {
        let item = quote! { #[doc = "A rule."] tried: #of };
        rules::expand(item).map(|_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_unknown_operator_does_not_compile_in_a_pattern_or_a_replacement() {
        let why = rule(quote!(Neg(Sofmax(x)) => x)).unwrap_err();
        assert!(why.starts_with("ONNX has no operator `Sofmax`. Did you mean `Softmax`?"), "{why}");
        let why = rule(quote!(Neg(Neg(x)) => Identty(x))).unwrap_err();
        assert!(why.contains("Did you mean `Identity`?"), "{why}");
        let why = rule(quote!((Mul(x, const a), Mool(x, const b)) => packed(cx))).unwrap_err();
        assert!(why.contains("`Mool`"), "{why}");
        let why = rule(quote!(every(x) => x)).unwrap_err();
        assert!(why.contains("`every`"), "{why}");
        let why = simple::expand(quote!("aten.relu.default" => Rellu(self))).unwrap_err().to_string();
        assert!(why.contains("Did you mean `Relu`?"), "{why}");
    }

    #[test]
    fn an_unknown_attribute_does_not_compile_in_a_pattern_or_a_replacement() {
        let why = rule(quote!(Softmax(x, axes = a) => x)).unwrap_err();
        assert_eq!(why, "`Softmax` has no attribute `axes`. Did you mean `axis`?");
        let why = rule(quote!(Transpose(x, perm = p) => Transpose(x, permutation = p))).unwrap_err();
        assert_eq!(why, "`Transpose` has no attribute `permutation`.");
        rule(quote!(Gemm(x, y, transA = 1) => Gemm(x, y, alpha = 2.0))).unwrap();
        rule(quote!("com.example"::Softmax(x, axes = a) => "com.example"::Softmax(x, other = a))).unwrap();
        rule(quote!(""::Softmax(x, axes = a) => ""::Softmax(x, other = a))).unwrap();
    }

    #[test]
    fn names_of_onnx_runtime_are_checked_as_far_as_they_are_known() {
        let why = rule(quote!("com.microsoft"::QuikGelu(x) => x)).unwrap_err();
        assert_eq!(why, "`com.microsoft` has no operator `QuikGelu`. Did you mean `QuickGelu`?");
        let why = rule(quote!(Neg(x) => "com.microsoft"::QuikGelu(x))).unwrap_err();
        assert!(why.contains("Did you mean `QuickGelu`?"), "{why}");
        let why = rule(quote!("com.microsoft"::QuickGelu(x, alfa = a) => x)).unwrap_err();
        assert_eq!(why, "`QuickGelu` has no attribute `alfa`. Did you mean `alpha`?");
        let why = rule(quote!(Neg(x) => "com.microsoft"::QuickGelu(x, alfa = 1.0))).unwrap_err();
        assert!(why.contains("Did you mean `alpha`?"), "{why}");
        rule(quote!("com.microsoft"::QuickGelu(x, alpha = a) => "com.microsoft"::CDist(x, x, metric = a)))
            .unwrap();
        rule(quote!("com.microsoft"::OfALaterRelease(x) => x)).unwrap();
    }

    #[test]
    fn a_rule_that_another_one_shadows_does_not_compile() {
        let both = |first: TokenStream, second: TokenStream| {
            let item = quote! { #[doc = "A."] a: #first; #[doc = "B."] b: #second };
            rules::expand(item).map(|_| ()).map_err(|error| error.to_string())
        };
        let why = both(quote!(Neg(x) => Abs(x)), quote!(Neg(Neg(x)) => x)).unwrap_err();
        assert_eq!(why, "`b` is never tried: `a` matches wherever it does");
        // The first may refuse, or comes later.
        both(quote!(Neg(x) if fits(matched) => Abs(x)), quote!(Neg(Neg(x)) => x)).unwrap();
        both(quote!(Neg(_x) => build), quote!(Neg(Neg(x)) => x)).unwrap();
        both(quote!(Neg(x) => Cast(x, to = chosen(cx)?)), quote!(Neg(Neg(x)) => x)).unwrap();
        both(quote!(Neg(Neg(x)) => x), quote!(Neg(x) => Abs(x))).unwrap();
        let item =
            quote! { #[doc = "A."] a: Neg(x) => Abs(x); #[doc = "B."] b (priority = 1): Neg(Neg(x)) => x };
        rules::expand(item).unwrap();
    }

    #[test]
    fn known_operators_classes_other_domains_and_an_explicit_form_compile() {
        rule(quote!(Neg(Neg(x)) => x)).unwrap();
        rule(quote!(Transpose(each(Transpose(_x, perm = p)), perm = q) => below(cx))).unwrap();
        rule(quote!("com.example"::Sofmax(x) => "com.example"::Other(x))).unwrap();
        rule(quote!(""::Sofmax(x) => ""::Other(x))).unwrap();
    }
}
