//! Names of operators, which are checked where they are written.

use syn::{Error, Ident, Result};

use crate::operators::OPERATORS;

/// Classes of operators that a pattern may name in the place of one.
const CLASSES: [&str; 3] = ["each", "view", "reduce"];

/// Fails at `op` unless ONNX's own domain has such an operator.
pub(crate) fn operator(op: &Ident) -> Result<()> {
    let name = op.to_string();
    if OPERATORS.binary_search(&name.as_str()).is_ok() {
        return Ok(());
    }
    let near = OPERATORS.iter().min_by_key(|known| distance(&name, known));
    let near = near.filter(|known| distance(&name, known) <= 2);
    let hint = near.map_or_else(String::new, |known| format!(" Did you mean `{known}`?"));
    let message = format!(
        "ONNX has no operator `{name}`.{hint} Write `\"domain\"::{name}` for an operator of another domain, and \
         `\"\"::{name}` for one that ONNX has not had so far."
    );
    Err(Error::new(op.span(), message))
}

/// The same, where a class of operators may stand as well.
pub(crate) fn operator_or_class(op: &Ident) -> Result<()> {
    if CLASSES.iter().any(|class| op == class) { Ok(()) } else { operator(op) }
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
    fn known_operators_classes_other_domains_and_an_explicit_form_compile() {
        rule(quote!(Neg(Neg(x)) => x)).unwrap();
        rule(quote!(Transpose(each(Transpose(_x, perm = p)), perm = q) => below(cx))).unwrap();
        rule(quote!("com.example"::Sofmax(x) => "com.example"::Other(x))).unwrap();
        rule(quote!(""::Sofmax(x) => ""::Other(x))).unwrap();
    }
}
