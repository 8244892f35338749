//! Inlining of local functions.

use std::fmt::Write;

use onnxport_core::inline::{SMALL, inline};
use onnxport_core::ir::Model;
use onnxport_core::tidy;
use onnxport_core::valid::{StatedTypes, validate};
use onnxport_ir::ops::{Limits, run};

use super::draw::{Random, agree, values};
use super::read;

/// Returns a model of f32 after inlining, and the number of inlined calls; checks that it computes the same.
fn inlined(text: &str, most: usize) -> (Model, usize) {
    let before = read(text);
    let mut after = before.clone();
    let count = inline(&mut after, most);
    tidy::model(&mut after);
    for model in [&before, &after] {
        let found = validate(model, &StatedTypes::default());
        assert!(found.is_empty(), "{found:?}\n{}", model.to_text());
    }
    let given = values(&before, &|_| Some(3), false, &mut Random(1));
    let [wanted, found] =
        [&before, &after].map(|model| run(model, given.clone(), Limits::default()).expect("it runs"));
    for (wanted, found) in wanted.iter().zip(&found) {
        let (wanted, found) = (wanted.tensor().expect("a tensor"), found.tensor().expect("a tensor"));
        assert!(agree(wanted, found, 0.0), "{}", after.to_text());
    }
    (after, count)
}

/// A function that calls another, with attributes that are handed on, given, and left to their defaults.
const NESTED: &str = "opset 20\nopset local 1\nsymbol n 0..\ngraph {\n  input %x: f32[n, 3]\n  input %c: bool[]\n  \
    %a: f32[n, 3] = local::Outer(%x) {slope = 0.25}\n  %b: f32[n, 3] = If(%c) {else_branch = {\n    %d: f32[n, 3] = local::Outer(%a)\n    output %d\n  }, \
    then_branch = {\n    %e: f32[n, 3] = local::Inner(%a) {alpha = 0.75}\n    output %e\n  }}\n  output %a as a\n  output %b as b\n}\n\
    function local::Inner(alpha) {\n  input %x\n  %y = LeakyRelu(%x) {alpha = ref alpha}\n  output %y\n}\n\
    function local::Outer(slope = 0.5) {\n  input %x\n  %y = local::Inner(%x) {alpha = ref slope}\n  %z = Neg(%y)\n  %s = Neg(%z)\n  \
    output %s\n}\n";

#[test]
fn calls_in_functions_and_branches_are_replaced() {
    let (model, count) = inlined(NESTED, usize::MAX);
    // One in the function, two in the graph, one in each branch.
    assert_eq!((count, model.functions.len()), (4, 0), "{}", model.to_text());
    let text = model.to_text();
    assert_eq!(["0.25", "0.5}", "0.75"].map(|slope| text.matches(slope).count()), [1, 1, 1], "{text}");
    assert!(text.contains("%a: f32[n, 3] = Neg("), "a result keeps its name\n{text}");
}

#[test]
fn functions_beyond_the_size_stay() {
    let (model, count) = inlined(NESTED, 1);
    assert_eq!((count, model.functions.len()), (2, 1), "{}", model.to_text());
    assert_eq!(inlined(NESTED, SMALL).1, 4, "both are small");
    assert_eq!(inlined(NESTED, 0).1, 0);
}

#[test]
fn what_is_not_given_and_what_is_handed_on_stays_so() {
    let text = "opset 20\nopset local 1\nsymbol n 0..\ngraph {\n  input %x: f32[n]\n  constant %top: f32[] = [0.5]\n  \
        %a: f32[n], %b: f32[n] = local::F(%x, _, %top)\n  %c = Add(%a, %b)\n  output %c as c\n  output %b as b\n}\n\
        function local::F() {\n  input %x\n  input %low\n  input %top\n  %y = Clip(%x, %low, %top)\n  output %y\n  output %x\n}\n";
    let (model, count) = inlined(text, usize::MAX);
    assert_eq!((count, model.functions.len()), (1, 0));
    let text = model.to_text();
    assert!(text.contains("Clip(%x, _, %top)") && text.contains("output %x as b"), "{text}");
}

#[test]
fn operators_of_another_version_stay_in_their_function() {
    let text = "opset 20\nopset local 1\nsymbol n 1..\ngraph {\n  input %x: f32[n, 3]\n  %a: f32[n, 3] = local::F(%x)\n  output %a as a\n}\n\
        function local::F() opset 18 {\n  input %x\n  %y = Abs(%x)\n  output %y\n}\n";
    assert_eq!(inlined(text, usize::MAX).1, 0);
}

#[test]
fn growth_without_end_ends() {
    // Each function calls the one before it twice: 2^30 nodes.
    let mut text = String::from(
        "opset 20\nopset local 1\ngraph {\n  input %x: f32[3]\n  %a = Neg(%x)\n  output %a as a\n}\n",
    );
    text.push_str("function local::F0() {\n  input %x\n  %y = Neg(%x)\n  %z = Abs(%y)\n  output %z\n}\n");
    for at in 1..30 {
        let call = format!("local::F{}", at - 1);
        writeln!(
            text,
            "function local::F{at}() {{\n  input %x\n  %y = {call}(%x)\n  %z = {call}(%y)\n  output %z\n}}"
        )
        .expect("a text");
    }
    let mut model = read(&text.replace("%a = Neg(%x)", "%a: f32[3] = local::F29(%x)"));
    inline(&mut model, usize::MAX);
    let nodes: usize = model.functions.iter().map(|function| function.graph.node_count()).sum();
    assert!(model.graph.node_count() + nodes < 310_000, "{nodes}");
}
