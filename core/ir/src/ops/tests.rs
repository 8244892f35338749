use super::{Fault, Limits, Tensor, Value, fold, run};
use crate::ir::Model;
use crate::tensor::DType;

/// The outputs of a model in text form.
fn outputs(text: &str, inputs: &[Tensor]) -> super::Res<Vec<Value>> {
    let model = Model::parse(text).unwrap();
    run(&model, inputs.iter().map(|t| Some(Value::Tensor(t.clone()))).collect(), Limits::default())
}

fn floats(shape: &[usize], items: &[f64]) -> Tensor {
    Tensor::of_floats(DType::F32, shape.to_vec(), items.to_vec()).unwrap()
}

#[test]
fn a_graph_is_run_node_by_node() {
    let text = "opset 20\ngraph {\n  constant %two: f32[] = [2.0]\n  input %x: f32[2, 1]\n  input %y: f32[3]\n  \
                %0 = Mul(%x, %two)\n  %1 = Add(%0, %y)\n  %2 = Transpose(%1)\n  output %2 as z\n  output %y as same\n}\n";
    let (x, y) = (floats(&[2, 1], &[1.0, 2.0]), floats(&[3], &[0.5, 0.25, 0.0]));
    let out = outputs(text, &[x, y.clone()]).unwrap();
    assert_eq!(out[0].tensor().unwrap(), &floats(&[3, 2], &[2.5, 4.5, 2.25, 4.25, 2.0, 4.0]));
    assert_eq!(out[1].tensor().unwrap(), &y);
}

#[test]
fn an_operator_stands_in_one_family() {
    let twice =
        super::all().windows(2).find(|pair| (pair[0].domain, pair[0].name) == (pair[1].domain, pair[1].name));
    assert!(twice.is_none(), "{twice:?}");
}

#[test]
fn functions_get_their_attributes() {
    let text = "opset 20\nopset local 1\ngraph {\n  input %x: f32[2]\n  %0 = local::Leak(%x) {slope = 0.5}\n  output %0 as y\n}\n\
                function local::Leak(slope) {\n  input %x\n  %0 = LeakyRelu(%x) {alpha = ref slope}\n  output %0\n}\n";
    let out = outputs(text, &[floats(&[2], &[-4.0, 4.0])]).unwrap();
    assert_eq!(out[0].tensor().unwrap(), &floats(&[2], &[-2.0, 4.0]));
}

#[test]
fn a_result_that_is_too_large_is_an_error() {
    let text = "opset 20\ngraph {\n  input %s: i64[2]\n  input %x: f32[]\n  %0 = Expand(%x, %s)\n  output %0 as y\n}\n";
    let shape = Tensor::of_longs(vec![2], [1 << 40, 1 << 40]).unwrap();
    let error = outputs(text, &[shape, floats(&[], &[1.0])]).unwrap_err();
    assert_eq!(error.fault, Fault::Memory);
    assert!(error.message.starts_with("Expand (value 2): "), "{error}");
}

#[test]
fn what_hangs_on_constants_alone_is_folded_under_a_budget() {
    let text = "opset 20\ngraph {\n  constant %a: f32[2] = [1.0, 2.0]\n  constant %n: i64[1] = [1000]\n  input %x: f32[2]\n  \
                %0 = Neg(%a)\n  %1 = Add(%0, %x)\n  %2 = ConstantOfShape(%n)\n  output %1 as y\n  output %2 as z\n}\n";
    let mut model = Model::parse(text).unwrap();
    assert_eq!(fold(&mut model, 1024), 1);
    let graph = &model.graph;
    let ops: Vec<&str> = graph.order(graph.main()).map(|n| graph.nodes[n].op.as_str()).collect();
    assert_eq!(ops, ["Add", "ConstantOfShape"]);
    let x = Some(Value::Tensor(floats(&[2], &[5.0, 5.0])));
    let out = run(&model, vec![x], Limits::default()).unwrap();
    assert_eq!(out[0].tensor().unwrap(), &floats(&[2], &[4.0, 3.0]));
    assert_eq!(fold(&mut model, 4000), 1);
}

#[test]
fn a_loop_without_end_runs_out_of_steps() {
    let text = "opset 20\ngraph {\n  constant %c: bool[] = [true]\n  input %x: f32[1]\n  \
                %0 = Loop(_, %c, %x) {body = {\n    input %i: i64[]\n    input %go: bool[]\n    input %v: f32[1]\n    \
                %1 = Neg(%v)\n    output %go\n    output %1\n  }}\n  output %0 as y\n}\n";
    let model = Model::parse(text).unwrap();
    let limits = Limits { steps: 10_000, ..Limits::default() };
    let error = run(&model, vec![Some(Value::Tensor(floats(&[1], &[1.0])))], limits).unwrap_err();
    assert_eq!(error.fault, Fault::Steps, "{error}");
}
