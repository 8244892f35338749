//! Each lowering against numbers that are known, in the host itself.

use onnxport_testkit::{Plugin, Tensor, Tolerance, assert_close, input};

#[test]
fn every_parameter_is_an_argument_of_the_schema() {
    Plugin::attach(&crate::ROOT).check_schemas();
}

#[test]
fn scaled_multiplies() {
    let plugin = Plugin::attach(&crate::ROOT);
    let call = plugin.call("myplugin.scaled.default").arg("x", input("f32[n, 2]")).arg("factor", 2.5);
    let lowered = call.gives("f32[n, 2]").lower().expect("a lowered call");
    assert_eq!(lowered.ops(), ["Mul"]);
    let x = Tensor::f32([1, 2], [1.0, -2.0]);
    let outputs = lowered.run(&[("x", &x)]).expect("numbers");
    assert_close(&outputs[0], &Tensor::f32([1, 2], [2.5, -5.0]), Tolerance::default());
}

#[test]
fn scaled_refuses_integers() {
    let plugin = Plugin::attach(&crate::ROOT);
    let call = plugin.call("myplugin.scaled.default").arg("x", input("i64[2]")).gives("i64[2]");
    let refusal = call.lower().expect_err("a refusal");
    assert!(refusal.message.ends_with("argument `x`: i64 is not a floating-point type"), "{refusal}");
}
