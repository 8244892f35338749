//! A plugin of contract 1.3: lowerings and an executor, on the SDK of that time.

use std::path::Path;

use onnxport_sdk::abi::executor::TensorView;
use onnxport_sdk::executor::{Executor, Failure, Options, Outputs, Session};
use onnxport_sdk::prelude::*;
use onnxport_sdk::weights::{Part, Quantiser, Row, Weights};

simple! { "frozen.plain.default" => Relu(self) }

/// Another lowering of an operator that onnxport has as well.
#[lowering("aten.relu.default")]
fn relu(cx: &Lower, x: Value) -> Res<Value> {
    let zero = cx.float(0.0, cx.result(0)?.dtype);
    Ok(cx.op("Max").input(x).input(zero).one())
}

#[lowering("frozen.scaled.default")]
fn scaled(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let factor = cx.float(Settings::get()?.factor, dtype);
    Ok(cx.mul(x, factor))
}

#[lowering("frozen.refused.default")]
fn refused(_: &Lower, _x: Value) -> Res<Value> {
    Err("this is what it says".into())
}

#[lowering("frozen.panics.default")]
fn panics(_: &Lower, _x: Value) -> Res<Value> {
    panic!("out of cheese")
}

/// Where the call comes from, which hosts of contract 1.0 do not tell.
#[lowering("frozen.placed.default")]
fn placed(cx: &Lower, x: Value) -> Res<Value> {
    let line = cx.origin()?.line;
    onnxport_sdk::log::warn!(cx => "line {line}");
    Ok(cx.op("Relu").input(x).one())
}

onnxport_sdk::options! {
    /// What a user can set.
    struct Settings {
        /// The factor of `frozen.scaled`.
        factor: f64 = 2.0,
    }
}

/// Gives its inputs back.
struct Echo;

impl Executor for Echo {
    const NAME: &'static str = "echo 1.3";
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
            outputs.push(input.name.get().expect("a text"), input.dtype, input.dims.get().expect("a slice"), input.bytes.get().expect("a slice"));
        }
        Ok(())
    }
}

/// What came with 1.2: a quantiser.
#[derive(Default)]
struct Nearest;

impl Weights for Nearest {
    fn quantisers(&self) -> Vec<Box<dyn Quantiser>> {
        vec![Box::new(Rounds)]
    }
}

struct Rounds;

impl Quantiser for Rounds {
    fn name(&self) -> &'static str {
        "rounds"
    }

    fn quantise(&self, part: &Part<'_>, row: Row<'_>) -> Result<(), Failure> {
        row.blocks(part).for_each(|mut block| {
            let step = part.nearest(block.values);
            block.put(part, step);
        });
        Ok(())
    }
}

// What came with 1.3: a rule whose pattern is a text.
rules! {
    /// A negation of a negation is nothing.
    frozen_neg: Neg(Neg(x)) => x;
}

onnxport_sdk::export_plugin! { id: "frozen", schemas: SCHEMAS, executor: Echo, weights: Nearest, rules: true, options: Settings }

const SCHEMAS: &str = "\
frozen::panics(Tensor self) -> Tensor
frozen::placed(Tensor self) -> Tensor
frozen::plain(Tensor self) -> Tensor
frozen::refused(Tensor self) -> Tensor
frozen::scaled(Tensor self) -> Tensor
";
