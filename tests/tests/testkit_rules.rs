//! Rules in the test kit of the plugin SDK: those of `plugins/optimise`, and ones that go wrong.

// What a linked-in plugin has no feature for.
#![allow(unexpected_cfgs)]

use onnxport_sdk::prelude::*;
use onnxport_sdk::testkit::{Attr, Failure, Lowered, Plugin, Sample, Tensor, Tolerance, assert_close};

rules! {
    /// A product with itself, by way of a constant.
    square: Mul(x, x) => power;

    /// Wrong: the shape goes lost.
    flatten: Sigmoid(x) => Flatten(x, axis = 1);

    /// Half of a value is that value less the other half.
    half: Floor(x) => less_half;

    /// Wrong: the condition adds a node.
    adding: Ceil(x) if adds(x) => x;

    /// Wrong: panics.
    panics: Tanh(_) => broken;
}

fn power<'h>(cx: &Rewrite<'h>) -> Res<ValueRef<'h>> {
    Ok(cx.pow(cx.value("x")?, 2.0))
}

fn less_half<'h>(cx: &Rewrite<'h>) -> Res<ValueRef<'h>> {
    let x = cx.value("x")?;
    Ok(x - 0.5 * x)
}

fn adds(x: ValueRef<'_>) -> bool {
    let _ = -x;
    true
}

fn broken<'h>(_: &Rewrite<'h>) -> Res<ValueRef<'h>> {
    panic!("out of cheese")
}

onnxport_sdk::export_plugin! { id: "kit", rules: true }

fn standard() -> Plugin {
    Plugin::attach(&onnxport_optimise::ROOT)
}

fn perm(axes: [i64; 3]) -> [(&'static str, Attr); 1] {
    [("perm", Attr::Ints(axes.to_vec()))]
}

/// Two transposes; the inner one is an output as well when `shared`.
fn transposes(shared: bool) -> Lowered {
    let mut sample = Sample::new();
    let x = sample.input("x", "f32[n, 2, 3]");
    let inner = sample.node_with("Transpose", &[x], perm([0, 2, 1]));
    let outer = sample.node_with("Transpose", &[inner], perm([1, 0, 2]));
    let outputs: &[usize] = if shared { &[outer, inner] } else { &[outer] };
    sample.returns(outputs)
}

#[test]
fn a_rule_keeps_the_numbers() {
    let before = transposes(false);
    let rewritten = standard().rewrite("transpose_transpose", &before).expect("a graph");
    assert_eq!((rewritten.applied, rewritten.graph.ops()), (1, vec!["Transpose"]));
    assert_eq!(rewritten.graph.nodes()[0].ints("perm"), Some([2, 0, 1].as_slice()));
    let x = Tensor::f32([2, 2, 3], (0..12).map(|n| n as f32));
    let [before, after] = [before, rewritten.graph].map(|graph| graph.run(&[("x", &x)]).expect("numbers"));
    assert_close(&after[0], &before[0], Tolerance::default());
}

#[test]
fn what_is_read_elsewhere_stays() {
    let rewritten = standard().rewrite("transpose_transpose", &transposes(true)).expect("a graph");
    assert_eq!((rewritten.applied, rewritten.graph.ops().len()), (0, 2));
}

#[test]
fn a_condition_says_why_not() {
    let rewritten = standard().rewrite("transpose_to_itself", &transposes(false)).expect("a graph");
    assert_eq!(rewritten.applied, 0);
    let reasons: Vec<&str> = rewritten.refusals.iter().map(|refusal| refusal.message.as_ref()).collect();
    assert_eq!(reasons, ["the axes move: [0, 2, 1]", "the axes move: [1, 0, 2]"]);
}

#[test]
fn constants_and_swapped_operands_match() {
    let mut sample = Sample::new();
    let x = sample.input("x", "f32[2, 3]");
    let one = sample.constant(Tensor::f32([], [1.0]));
    let two = sample.constant(Tensor::f32([], [2.0]));
    let same = sample.node("Mul", &[one, x]);
    let twice = sample.node("Mul", &[same, two]);
    let rewritten = standard().rewrite("multiply_by_one", &sample.returns(&[twice])).expect("a graph");
    assert_eq!((rewritten.applied, rewritten.graph.ops()), (1, vec!["Mul"]));
}

#[test]
fn a_rule_is_applied_until_it_applies_nowhere() {
    let mut sample = Sample::new();
    let mut value = sample.input("x", "f32[n]");
    for _ in 0..5 {
        value = sample.node("Neg", &[value]);
    }
    let rewritten = standard().rewrite("negate_twice", &sample.returns(&[value])).expect("a graph");
    assert_eq!((rewritten.applied, rewritten.graph.ops()), (2, vec!["Neg"]));
}

fn own(rule: &str, op: &str, inputs: usize) -> Result<Lowered, Failure> {
    let mut sample = Sample::new();
    let x = sample.input("x", "f32[2, 3, 4]");
    let y = sample.node(op, &vec![x; inputs]);
    Plugin::attach(&ROOT).rewrite(rule, &sample.returns(&[y])).map(|rewritten| rewritten.graph)
}

#[test]
fn a_builder_makes_nodes_and_constants() {
    let graph = own("square", "Mul", 2).expect("a graph");
    assert_eq!(graph.ops(), ["Pow"]);
    let x = Tensor::f32([2, 3, 4], (0..24).map(|n| n as f32));
    let squares = graph.run(&[("x", &x)]).expect("numbers");
    assert_eq!(squares[0].to_f64()[23], 529.0);
}

#[test]
fn operators_on_values_add_to_the_graph_of_a_builder() {
    let graph = own("half", "Floor", 1).expect("a graph");
    assert_eq!(graph.ops(), ["Mul", "Sub"]);
    let x = Tensor::f32([2, 3, 4], (0..24).map(|n| n as f32));
    let halves = graph.run(&[("x", &x)]).expect("numbers");
    assert_eq!(halves[0].to_f64()[23], 11.5);
}

#[test]
fn a_condition_adds_nothing() {
    let mut sample = Sample::new();
    let x = sample.input("x", "f32[2]");
    let y = sample.node("Ceil", &[x]);
    let rewritten = Plugin::attach(&ROOT).rewrite("adding", &sample.returns(&[y])).expect("a graph");
    assert_eq!((rewritten.applied, rewritten.graph.ops()), (0, vec!["Ceil"]));
    assert_eq!(rewritten.refusals[0].message, "a condition adds nothing to the graph");
}

#[test]
fn what_goes_wrong_is_told_apart() {
    let wrong = own("flatten", "Sigmoid", 1).expect_err("another shape");
    assert_eq!(wrong, Failure::Contradiction("the patch is [2, 12] where [2, 3, 4] stood".to_owned()));
    let Err(Failure::Panicked(text)) = own("panics", "Tanh", 1) else { panic!("it panics") };
    assert!(text.starts_with("out of cheese"), "{text}");
    let missing = own("nothing", "Tanh", 1).expect_err("there is no such rule");
    assert_eq!(
        missing,
        Failure::Setup(
            "there is no rule `nothing`; there are square, flatten, half, adding, panics".to_owned()
        )
    );
}
