//! Operators that ONNX defines by others: the bodies of its own functions.
//!
//! `cargo xtask gen` writes `body/generated.txt`, in the text form of models: a function for each version of an operator
//! whose body does not hang on the call. Its overload is the version of the operator, and it imports the operator set that
//! its nodes are of. Bodies that ONNX makes up for each call, of the types and attributes there, are not among them.

use std::sync::LazyLock;

use crate::ir::opset;
use crate::ir::{Function, Model};

const TEXT: &str = include_str!("body/generated.txt");

/// Every body, sorted by name, the version of the operator and that of the operators in it.
pub fn bodies() -> &'static [Function] {
    static BODIES: LazyLock<Vec<Function>> =
        LazyLock::new(|| Model::parse(TEXT).map(|model| model.functions).unwrap_or_default());
    &BODIES
}

/// What defines the operator `name` of `domain` at `opset` by others of the same or an older operator set; `None` where ONNX
/// has no such definition.
pub fn body(domain: &str, name: &str, opset: i64) -> Option<&'static Function> {
    let version = opset::lookup_in(domain, name, opset).ok()??.since.to_string();
    let own = |f: &&Function| f.domain == domain && f.name == name && f.overload == version;
    let imported = |f: &Function| f.opsets.first().map_or(0, |o| o.version);
    bodies().iter().filter(own).filter(|f| imported(f) <= opset).max_by_key(|f| imported(f))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_body_is_read() {
        assert!(Model::parse(TEXT).is_ok_and(|model| model.functions.len() > 40));
    }

    #[test]
    fn a_body_is_that_of_the_version_in_force() {
        let found =
            |opset| body("", "MeanVarianceNormalization", opset).map(|f| (&*f.overload, f.opsets[0].version));
        assert_eq!(found(12), Some(("9", 9)));
        assert_eq!(found(17), Some(("13", 13)));
        assert_eq!(found(20), Some(("13", 18)));
        assert!(body("", "Add", 20).is_none());
        assert!(body("elsewhere", "Relu", 20).is_none());
    }
}
