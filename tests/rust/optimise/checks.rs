//! Checks of models that a transformation changed.

use onnxport_core::ir::Model;
use onnxport_core::valid::{StatedTypes, validate};
use onnxport_ir::ops::{Limits, run};

use super::draw::{Random, agree, values};

/// Checks that a model follows the rules of ONNX.
pub(super) fn valid(model: &Model) {
    let found = validate(model, &StatedTypes::default());
    assert!(found.is_empty(), "{found:?}\n{}", model.to_text());
}

/// Checks that both models compute the same bits from drawn values.
pub(super) fn same(before: &Model, after: &Model) {
    let given = values(before, &|_| Some(4), false, &mut Random(1));
    let [wanted, found] =
        [before, after].map(|model| run(model, given.clone(), Limits::default()).expect("it runs"));
    assert_eq!(wanted.len(), found.len());
    for (wanted, found) in wanted.iter().zip(&found) {
        let (wanted, found) = (wanted.tensor().expect("a tensor"), found.tensor().expect("a tensor"));
        assert!(agree(wanted, found, 0.0), "{}", after.to_text());
    }
}
