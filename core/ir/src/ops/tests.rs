use super::{Fault, Limits, Tensor, Value, run};
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
