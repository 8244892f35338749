//! The program format, without onnxport itself.

use super::{Accelerator, program};
use onnxport_sdk::backend::Backend;

#[test]
fn a_program_names_its_operators_in_order() {
    let ops = ["MatMul", "Add"].map(str::to_owned);
    assert_eq!(program(&ops), b"MatMul\nAdd\n");
    assert_eq!(program(&[]), b"");
}

#[test]
fn the_profile_can_be_asked_for() {
    // What is wrong with it, `onnxport plugin check` says.
    let _ = Accelerator.profile();
}
