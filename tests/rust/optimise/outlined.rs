//! Local functions for repeated sequences of nodes.

use onnxport_core::inline::inline;
use onnxport_core::ir::Model;
use onnxport_core::optimise::{OptimiseOptions, outline};
use onnxport_core::tidy;

use super::checks::{same, valid};
use super::read;

/// Returns a model after outlining, and the number of its calls; checks that it computes the same, also after
/// inlining.
fn outlined(text: &str, least: usize) -> (Model, usize) {
    let before = read(text);
    let mut after = before.clone();
    let calls = outline(&mut after, &OptimiseOptions { outline: Some(least), ..OptimiseOptions::default() });
    valid(&before);
    valid(&after);
    same(&before, &after);
    let mut back = after.clone();
    assert_eq!(inline(&mut back, usize::MAX), calls);
    tidy::model(&mut back);
    valid(&back);
    same(&before, &back);
    assert_eq!(back.graph.node_count(), before.graph.node_count(), "{}", back.to_text());
    (after, calls)
}

/// The same steps three times: each scales the result of the previous one, adds the input, and all share a constant.
const LAYERS: &str = "opset 20\nsymbol n 0..\ngraph {\n  constant %a: f32[3] = [1, 2, 3]\n  constant %b: f32[3] = [4, 5, 6]\n  \
    constant %c: f32[3] = [7, 8, 9]\n  constant %two: f32[] = [2]\n  input %x: f32[n, 3]\n  %start: f32[n, 3] = Neg(%x)\n  \
    %a1: f32[n, 3] = Mul(%start, %a)\n  %a2: f32[n, 3] = Add(%a1, %x)\n  %a3: f32[n, 3] = Clip(%a2, _, %two)\n  \
    %b1: f32[n, 3] = Mul(%a3, %b)\n  %b2: f32[n, 3] = Add(%b1, %x)\n  %b3: f32[n, 3] = Clip(%b2, _, %two)\n  \
    %c1: f32[n, 3] = Mul(%b3, %c)\n  %c2: f32[n, 3] = Add(%c1, %x)\n  %c3: f32[n, 3] = Clip(%c2, _, %two)\n  \
    %end: f32[n, 3] = Abs(%c3)\n  output %end as y\n  output %b2 as inner\n}\n";

#[test]
fn layers_become_calls_of_one_function() {
    let (model, calls) = outlined(LAYERS, 3);
    let text = model.to_text();
    assert_eq!((calls, model.graph.node_count(), model.functions.len()), (3, 5, 1), "{text}");
    let function = model.functions.first().expect("a function");
    // The input, the output of the last layer, and the factor; the shared constant is inside.
    let body = &function.graph.blocks[function.graph.main()];
    assert_eq!((body.inputs.len(), body.outputs().len()), (3, 2), "{text}");
    assert!(text.contains("output %b2 as inner"), "a value keeps its name\n{text}");
}

#[test]
fn parts_that_are_too_small_or_differ_stay() {
    assert_eq!(outlined(LAYERS, 4).1, 0);
    // Another argument is no other part, but one that reads its own value twice is: the two around it are not neighbours.
    assert_eq!(outlined(&LAYERS.replace("Add(%b1, %x)", "Add(%b1, %start)"), 3).1, 3);
    assert_eq!(outlined(&LAYERS.replace("Add(%b1, %x)", "Add(%b1, %b1)"), 3).1, 0);
    assert_eq!(outlined(&LAYERS.replace("Clip(%c2, _, %two)", "Abs(%c2)"), 3).1, 2);
}

#[test]
fn nodes_with_graphs_stay_where_they_are() {
    let choice = "If(%c) {else_branch = {\n    %d: f32[n, 3] = Abs(%A)\n    output %d\n  }, then_branch = {\n    \
        %e: f32[n, 3] = Neg(%A)\n    output %e\n  }}\n";
    let steps = |from: &str, to: &str| {
        let choice = choice.replace("%A", &format!("%{to}2"));
        format!(
            "  %{to}1: f32[n, 3] = Neg(%{from})\n  %{to}2: f32[n, 3] = Exp(%{to}1)\n  %{to}: f32[n, 3] = {choice}"
        )
    };
    let (first, second, third) = (steps("x", "p"), steps("p", "q"), steps("q", "r"));
    let text = format!(
        "opset 20\nsymbol n 0..\ngraph {{\n  input %x: f32[n, 3]\n  input %c: bool[]\n{first}{second}{third}  output %r as r\n}}\n"
    );
    let (model, calls) = outlined(&text, 2);
    assert_eq!((calls, model.functions.len()), (0, 0), "{}", model.to_text());
}
