use super::{Growth, weights};
use crate::ir::Model;
use crate::ops::infer::infer_all;
use crate::ops::{Limits, Tensor, Value, run};
use crate::tensor::{DType, LazyTensor};

fn made(model: &mut Model) -> usize {
    let mut room = Growth::from_model(model);
    weights(model, false, &mut room)
}

/// Returns a model whose constants with a dot in their names are weights, and the model after folding.
fn folded(text: &str) -> (Model, Model, usize) {
    let mut model = Model::parse(text).unwrap();
    for initializer in &mut model.graph.initializers {
        let name = model.graph.values[initializer.value].name.as_deref();
        initializer.weight = name.is_some_and(|name| name.contains('.'));
    }
    let opset = model.opset();
    infer_all(&mut model.graph, &mut model.symbols, opset);
    let before = model.clone();
    let count = made(&mut model);
    let found = crate::valid::validate(&model, &crate::valid::StatedTypes::default());
    assert!(found.is_empty(), "{found:?}\n{}", model.to_text());
    (before, model, count)
}

/// Asserts that two models compute the same from `x`, two rows of three, bit for bit.
fn same(before: &Model, after: &Model) {
    let numbers = vec![0.5, -1.0, 2.0, 3.0, 0.25, -0.125];
    let x = Tensor::of_floats(DType::F32, vec![2, 3], numbers).unwrap();
    let of = |model: &Model| {
        let made = run(model, vec![Some(Value::Tensor(x.clone()))], Limits::default()).unwrap();
        made.iter()
            .map(|value| value.tensor().unwrap().to_lazy().unwrap().read().unwrap().into_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(of(before), of(after), "{}", after.to_text());
}

fn ops(model: &Model) -> Vec<String> {
    let graph = &model.graph;
    graph.order(graph.main()).map(|node| graph.nodes[node].op.to_string()).collect()
}

#[test]
fn views_arithmetic_and_reductions_of_weights_are_weights() {
    let text = "opset 20
graph {
  constant %a.w: f32[3, 4] = [0.1, 0.2, 0.3, 0.4, -0.5, 0.6, 0.7, -0.8, 0.9, 1.1, 1.2, 1.3]
  constant %a.b: f32[4] = [1.0, 2.0, 3.0, 4.5]
  constant %places: i64[3] = [3, 0, 1]
  constant %start: i64[1] = [-3]
  constant %end: i64[1] = [9]
  constant %axis: i64[1] = [1]
  constant %both: i64[2] = [0, 1]
  constant %flat: i64[2] = [2, 6]
  constant %small: f32[] = [0.001]
  input %x: f32[2, 3]
  %m: f32[3, 1] = ReduceMean(%a.w, %axis)
  %c: f32[3, 4] = Sub(%a.w, %m)
  %q: f32[3, 4] = Mul(%c, %c)
  %v: f32[3, 1] = ReduceMean(%q, %axis)
  %e: f32[3, 1] = Add(%v, %small)
  %s: f32[3, 1] = Sqrt(%e)
  %n: f32[3, 4] = Div(%c, %s)
  %p: f32[2, 4] = MatMul(%x, %n)
  %l: f32[1, 4] = ReduceL2(%a.w, %start)
  %g: f32[3] = Gather(%a.b, %places) {axis = 0}
  %h: f32[3] = Neg(%g)
  %i: f32[2, 3] = Mul(%x, %h)
  %t: f32[4, 3] = Transpose(%a.w) {perm = [1, 0]}
  %u: f32[3, 3] = Slice(%t, %start, %end)
  %w: f32[2, 3] = MatMul(%i, %u)
  %j: f32[2, 6] = Reshape(%a.w, %flat)
  %j1: f32[2, 2], %j2: f32[2, 4] = Split(%j) {axis = 1}
  %r: f32[2, 6] = Concat(%j2, %j1) {axis = 1}
  %k: f32[] = ReduceSum(%r, %both) {keepdims = 0}
  %y: f32[2, 3] = Add(%w, %k)
  output %p as p
  output %y as y
}
"
    .replace("  %l: f32[1, 4] = ReduceL2(%a.w, %start)\n", "")
    .replace("Split(%j) {axis = 1}", "Split(%j, %parts) {axis = 1}")
    .replace("  constant %small", "  constant %parts: i64[2] = [2, 4]\n  constant %small");
    let (before, after, count) = folded(&text);
    assert_eq!(count, 15);
    assert_eq!(ops(&after), ["MatMul", "Mul", "MatMul", "Add"], "{}", after.to_text());
    assert!(after.graph.initializers.iter().all(|own| own.weight), "{}", after.to_text());
    same(&before, &after);
}

#[test]
fn what_has_no_formula_is_evaluated_and_what_is_large_stays() {
    let text = |size: u64| {
        format!(
            "opset 20
symbol n 1..
graph {{
  constant %a.w: f32[{size}, 3] = ...
  input %x: f32[n, 3]
  %e: f32[{size}, 3] = Exp(%a.w)
  %g: f32[n, {size}] = Gemm(%x, %e) {{transB = 1}}
  output %g as g
}}
"
        )
    };
    let run = |size: u64| {
        let mut model = Model::parse(&text(size)).unwrap();
        let own = model.graph.initializers.first_mut().unwrap();
        own.weight = true;
        let bytes: Vec<u8> = (0..size * 3).flat_map(|n| (n as f32 / 100.0).to_le_bytes()).collect();
        own.data = LazyTensor::inline(DType::F32, vec![size, 3], bytes);
        (made(&mut model), ops(&model))
    };
    assert_eq!(run(8), (1, vec!["Gemm".to_owned()]));
    assert_eq!(run(1 << 20), (0, vec!["Exp".to_owned(), "Gemm".to_owned()]));
}

#[test]
fn a_large_weight_that_others_read_stays_once() {
    let text = "opset 20
symbol n 1..
graph {
  constant %tied.w: f32[400000, 3] = ...
  constant %own.w: f32[400000, 3] = ...
  input %x: f32[n, 3]
  input %at: i64[n]
  %r: f32[n, 3] = Gather(%tied.w, %at) {axis = 0}
  %t: f32[3, 400000] = Transpose(%tied.w) {perm = [1, 0]}
  %a: f32[n, 400000] = MatMul(%x, %t)
  %u: f32[3, 400000] = Transpose(%own.w) {perm = [1, 0]}
  %b: f32[n, 400000] = MatMul(%r, %u)
  output %a as a
  output %b as b
}
";
    let (_, after, count) = folded(text);
    assert_eq!(
        (count, ops(&after)),
        (1, ["Gather", "Transpose", "MatMul", "MatMul"].map(str::to_owned).into())
    );
    let names: Vec<_> = after
        .graph
        .initializers
        .iter()
        .map(|own| after.graph.values[own.value].name.clone().unwrap())
        .collect();
    assert_eq!(names, ["tied.w", "own.w.T"]);
}

#[test]
fn codes_random_values_and_outputs_stay() {
    let text = "opset 20
graph {
  constant %a.w: f32[2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  constant %a.s: f32[] = [0.5]
  input %x: f32[2, 3]
  %q: i8[2, 3] = QuantizeLinear(%a.w, %a.s)
  %d: f32[2, 3] = DequantizeLinear(%q, %a.s)
  %r: f32[2, 3] = RandomNormalLike(%a.w)
  %n: f32[2, 3] = Neg(%a.w)
  %y: f32[2, 3] = Add(%x, %d)
  %z: f32[2, 3] = Add(%y, %r)
  output %z as z
  output %n as n
}
";
    let (_, after, count) =
        folded(&text.replace(
            "%q: i8[2, 3] = QuantizeLinear(%a.w, %a.s)",
            "%q: u8[2, 3] = QuantizeLinear(%a.w, %a.s)",
        ));
    assert_eq!((count, ops(&after).len()), (0, 6), "{}", after.to_text());
}
