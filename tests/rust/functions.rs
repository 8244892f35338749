//! Local functions and codes of an author's own, over a plugin that is linked into the test.

use crate::files::errors;
use onnxport_core::host::Host;
use onnxport_core::inspect::ModelSummary;
use onnxport_core::ir::Model;
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::pipeline::{self, ConvertOptions, Converted};
use onnxport_core::program::Program;
use onnxport_core::valid;
use onnxport_core::write::{self, WriteOptions};
use onnxport_sdk::prelude::*;

/// `x * sigmoid(beta * x)`.
fn swish(cx: &Lower, x: Value, beta: f64) -> Res<Value> {
    let [y] = cx.function("local", "Swish").input(x).float("beta", beta).body(|cx, [x]| {
        let beta = cx.op(op::Constant).refer("value_float", "beta").one();
        Ok([x * cx.sigmoid(x * beta)])
    })?;
    Ok(y)
}

#[lowering("local.swish.default")]
fn one_swish(cx: &Lower, x: Value, beta: f64) -> Res<Value> {
    swish(cx, x, beta)
}

/// A function that calls another one, with a constant, a branch and an attribute that infers the type.
#[lowering("local.gated.default")]
fn gated(cx: &Lower, x: Value, flag: Value, dim: i64) -> Res<(Value, Value)> {
    let [soft, y] =
        cx.function("local", "Gated").input(x).input(flag).int("dim", dim).body(|cx, [x, flag]| {
            let unused = cx.float(7.0, DType::F32);
            cx.add(x, unused);
            let soft = cx.op(op::Softmax).input(x).refer("axis", "dim").one();
            let two = cx.float(2.0, DType::F32);
            let twice = cx.mul(x, two);
            let swished = swish(cx, twice, 0.5)?;
            let then = cx.block(|cx| Ok(vec![cx.neg(swished)]))?;
            let other = cx.block(|cx| Ok(vec![cx.mul(swished, two)]))?;
            let y = cx.op(op::If).input(flag).then_branch(then).else_branch(other).one();
            Ok([soft, y])
        })?;
    Ok((soft, y))
}

/// A body that depends on more than its name says.
#[lowering("local.fickle.default")]
fn fickle(cx: &Lower, x: Value, factor: f64) -> Res<Value> {
    let [y] = cx.function("local", "Fickle").input(x).body(|cx, [x]| {
        let factor = cx.float(factor, DType::F32);
        Ok([cx.mul(x, factor)])
    })?;
    Ok(y)
}

/// A body that reaches outside.
#[lowering("local.reaches.default")]
fn reaches(cx: &Lower, x: Value) -> Res<Value> {
    let outside = x;
    let [y] = cx.function("local", "Reaches").input(x).body(|cx, [_]| Ok([cx.relu(outside)]))?;
    Ok(y)
}

/// Values of the body are not valid outside.
#[lowering("local.leaks.default")]
fn leaks(cx: &Lower, x: Value) -> Res<Value> {
    let mut inside = x;
    cx.function("local", "Leaks").input(x).body(|cx, [x]| {
        inside = cx.relu(x);
        Ok([inside])
    })?;
    Ok(cx.neg(inside))
}

/// A body that gives up, inside of a block.
#[lowering("local.gives_up.default")]
fn gives_up(cx: &Lower, x: Value) -> Res<Value> {
    let [y] = cx.function("local", "GivesUp").input(x).body(|cx, [x]| {
        cx.block(|cx| {
            cx.relu(x);
            Err(Refusal::new("it is too late").code("OP301").help("come earlier"))
        })?;
        Ok([x])
    })?;
    Ok(y)
}

/// An attribute that the operator takes as another type.
#[lowering("local.mistaken.default")]
fn mistaken(cx: &Lower, x: Value) -> Res<Value> {
    let [y] = cx
        .function("local", "Mistaken")
        .input(x)
        .float("dim", 1.0)
        .body(|cx, [x]| Ok([cx.op(op::Softmax).input(x).refer("axis", "dim").one()]))?;
    Ok(y)
}

#[lowering("local.refuses.default")]
fn refuses(_: &Lower, _x: Value) -> Res<Value> {
    Err(Refusal::new("argument `x` came on a Monday").code("W01"))
}

onnxport_sdk::export_plugin! { id: "local", schemas: SCHEMAS }

const SCHEMAS: &str = "\
local::fickle(Tensor x, float factor) -> Tensor
local::gated(Tensor x, Tensor flag, int dim) -> (Tensor, Tensor)
local::gives_up(Tensor x) -> Tensor
local::leaks(Tensor x) -> Tensor
local::mistaken(Tensor x) -> Tensor
local::reaches(Tensor x) -> Tensor
local::refuses(Tensor x) -> Tensor
local::swish(Tensor x, float beta) -> Tensor
";

fn converted(program: &str) -> Result<Converted, String> {
    let host = Host::new(&[&ROOT]).expect("the plugin attaches");
    let mut options = ConvertOptions { validate: true, ..ConvertOptions::default() };
    options.lower.opset = DEFAULT_OPSET;
    let program = Program::parse(program).expect("a program");
    pipeline::convert(&host, program, &options).map_err(|report| errors(&report))
}

const CALLS: &str = "symbol s0 2..
graph {
  input %x: f32[s0, 4] = user
  input %z: f32[3] = user
  input %flag: bool[] = user
  %a: f32[s0, 4] = local.swish.default(x=%x, beta=1.5)
  %b: f32[3] = local.swish.default(x=%z, beta=2.0)
  %soft: f32[s0, 4], %c: f32[s0, 4] = local.gated.default(x=%a, flag=%flag, dim=1)
  %d: f32[3], %e: f32[3] = local.gated.default(x=%b, flag=%flag, dim=0)
  output %soft = user
  output %c = user
  output %d = user
  output %e = user
}
";

const MODEL: &str = "opset 20
opset local 1
symbol s0 2..
graph {
  input %x: f32[s0, 4]
  input %z: f32[3]
  input %flag: bool[]
  %a: f32[s0, 4] = local::Swish(%x) {beta = 1.5} @ a (local.swish.default)
  %b: f32[3] = local::Swish(%z) {beta = 2.0} @ b (local.swish.default)
  %soft: f32[s0, 4], %c: f32[s0, 4] = local::Gated(%a, %flag) {dim = 1} @ soft (local.gated.default)
  %d: f32[3], %e: f32[3] = local::Gated(%b, %flag) {dim = 0} @ d (local.gated.default)
  output %soft as soft
  output %c as c
  output %d as d
  output %e as e
}
function local::Swish(beta) {
  input %0
  %1 = Constant() {value_float = ref beta}
  %2 = Mul(%0, %1)
  %3 = Sigmoid(%2)
  %4 = Mul(%0, %3)
  output %4
}
function local::Gated(dim) {
  constant %0: f32[] = [2.0]
  input %1
  input %2
  %3 = Softmax(%1) {axis = ref dim}
  %4 = Mul(%1, %0)
  %5 = local::Swish(%4) {beta = 0.5}
  %6 = If(%2) {else_branch = {
    %7 = Mul(%5, %0)
    output %7
  }, then_branch = {
    %8 = Neg(%5)
    output %8
  }}
  output %3
  output %6
}
";

#[test]
fn a_function_is_kept_once_and_typed_at_every_call() {
    let model = converted(CALLS).expect("a model").model;
    let text = model.to_text();
    assert_eq!(text, MODEL);
    let read = Model::parse(&text).expect("the text form reads back");
    assert_eq!(read.to_text(), text);
    let found = valid::validate(&read, &valid::StatedTypes::default());
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_written_function_is_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.onnx");
    let model = converted(CALLS).expect("a model").model;
    write::write(&model, &path, &WriteOptions::default()).expect("a written model");
    let summary = ModelSummary::read(&path).expect("a model");
    assert_eq!(summary.functions, ["local::Swish", "local::Gated"]);
    assert_eq!(summary.opsets, [(String::new(), DEFAULT_OPSET), ("local".to_owned(), 1)]);
}

#[test]
fn functions_that_nothing_needs_are_left_out() {
    let program = "graph {
  input %x: f32[4] = user
  %a: f32[4] = local.swish.default(x=%x, beta=1.5)
  output %x = user
}
";
    let model = converted(program).expect("a model").model;
    assert!(model.functions.is_empty(), "{}", model.to_text());
}

fn problem(call: &str) -> String {
    let program = format!(
        "graph {{
  input %x: f32[2, 4] = user
  %a: f32[2, 4] = {call}
  output %a = user
}}
"
    );
    converted(&program).err().unwrap_or_default()
}

#[test]
fn what_is_wrong_with_a_body_is_said() {
    let program = "graph {
  input %x: f32[4] = user
  %a: f32[4] = local.fickle.default(x=%x, factor=2.0)
  %b: f32[4] = local.fickle.default(x=%a, factor=2.0)
  %c: f32[4] = local.fickle.default(x=%b, factor=3.0)
  output %c = user
}
";
    let expected =
        "OP308: the function `local::Fickle` was defined with another body before [local.fickle.default]\n";
    assert_eq!(converted(program).err().unwrap_or_default(), expected);
    let refused = |op: &str, node: &str| {
        let why = "one of its inputs or attributes is not valid there";
        format!("OP302: `{op}` cannot be lowered: the host refused a node `{node}`: {why} [{op}]\n")
    };
    for (op, node) in [
        ("local.reaches.default", "Relu"),
        ("local.leaks.default", "Neg"),
        ("local.mistaken.default", "Softmax"),
    ] {
        assert_eq!(problem(&format!("{op}(x=%x)")), refused(op, node));
    }
}

#[test]
fn codes_of_an_author_carry_the_id_of_the_plugin() {
    let expected = "local:W01: `local.refuses.default` cannot be lowered: argument `x` came on a Monday [local.refuses.default]\n";
    assert_eq!(problem("local.refuses.default(x=%x)"), expected);
    let expected =
        "local:OP301: `local.gives_up.default` cannot be lowered: it is too late [local.gives_up.default]\n";
    assert_eq!(problem("local.gives_up.default(x=%x)"), expected);
}
