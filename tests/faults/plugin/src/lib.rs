//! A plugin that misbehaves on purpose, for the tests.

use onnxport_sdk::prelude::*;

simple! { "faulty.fine.default" => Relu(self) }

/// Another lowering of an operator that `aten` has as well.
#[lowering("aten.relu.default")]
fn relu(cx: &mut Lower, x: Value) -> Res<Value> {
    Ok(cx.op("LeakyRelu").input(x).float("alpha", 0.0).one())
}

#[lowering("faulty.panics.default")]
fn panics(_: &mut Lower, _x: Value) -> Res<Value> {
    panic!("out of cheese")
}

onnxport_sdk::export_plugin! { id: "faulty", schemas: SCHEMAS }

const SCHEMAS: &str = "\
faulty::fine(Tensor self) -> Tensor
faulty::panics(Tensor x) -> Tensor
";
