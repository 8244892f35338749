//! A plugin of contract 1.0: lowerings and an executor, on the SDK of that time.

use std::path::Path;

use onnxport_sdk::abi::executor::TensorView;
use onnxport_sdk::executor::{Executor, Failure, Options, Outputs, Session};
use onnxport_sdk::prelude::*;

simple! { "frozen.plain.default" => Relu(self) }

/// Another lowering of an operator that onnxport has as well.
#[lowering("aten.relu.default")]
fn relu(cx: &mut Lower, x: Value) -> Res<Value> {
    let zero = cx.float(0.0, cx.result(0)?.dtype);
    Ok(cx.op("Max").input(x).input(zero).one())
}

#[lowering("frozen.scaled.default")]
fn scaled(cx: &mut Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let factor = cx.float(2.0, dtype);
    Ok(cx.mul(x, factor))
}

#[lowering("frozen.refused.default")]
fn refused(_: &mut Lower, _x: Value) -> Res<Value> {
    Err("this is what it says".into())
}

#[lowering("frozen.panics.default")]
fn panics(_: &mut Lower, _x: Value) -> Res<Value> {
    panic!("out of cheese")
}

/// Gives its inputs back.
struct Echo;

impl Executor for Echo {
    const NAME: &'static str = "echo 1.0";
    type Session = Echoes;

    fn open(_: Options<'_>) -> Result<Self, Failure> {
        Ok(Self)
    }

    fn describe(&self) -> String {
        Self::NAME.to_owned()
    }

    fn load(&mut self, _: &Path) -> Result<Echoes, Failure> {
        Ok(Echoes)
    }
}

struct Echoes;

impl Session for Echoes {
    fn run(&mut self, inputs: &[TensorView<'_>], outputs: &mut Outputs<'_>) -> Result<(), Failure> {
        for input in inputs {
            outputs.push(input.name.as_str(), input.dtype, input.dims.as_slice(), input.bytes.as_slice());
        }
        Ok(())
    }
}

onnxport_sdk::export_plugin! { id: "frozen", schemas: SCHEMAS, executor: Echo }

const SCHEMAS: &str = "\
frozen::panics(Tensor self) -> Tensor
frozen::plain(Tensor self) -> Tensor
frozen::refused(Tensor self) -> Tensor
frozen::scaled(Tensor self) -> Tensor
";
