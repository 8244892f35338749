use super::{Cleaned, clean};
use crate::ir::Model;
use crate::ops::infer::infer_all;

/// Returns the simplified model and the number of changes.
fn cleaned(text: &str) -> (String, Cleaned) {
    let mut model = Model::parse(text).unwrap();
    let opset = model.opset();
    infer_all(&mut model.graph, &mut model.symbols, opset);
    let done = clean(&mut model, 1 << 14);
    let found = crate::valid::validate(&model, &crate::valid::StatedTypes::default());
    assert!(found.is_empty(), "{found:?}\n{}", model.to_text());
    (model.to_text(), done)
}

#[test]
fn equal_computations_stand_once_also_in_blocks() {
    let (text, done) = cleaned(
        "opset 20\ngraph {\n  input %x: f32[n, 3]\n  input %c: bool[]\n  %a: f32[n, 3] = Exp(%x)\n  %b: f32[n, 3] = Exp(%x)\n  %d: f32[n, 3] = Add(%a, %b)\n  %e: f32[n, 3] = If(%c) {else_branch = {\n    %f: f32[n, 3] = Exp(%x)\n    %g: f32[n, 3] = Neg(%f)\n    output %g\n  }, then_branch = {\n    %h: f32[n, 3] = Sin(%x)\n    %i: f32[n, 3] = Sin(%x)\n    %j: f32[n, 3] = Mul(%h, %i)\n    output %j\n  }}\n  %k: f32[n, 3] = Sin(%x)\n  output %d as d\n  output %e as e\n  output %k as k\n}\n"
            .replace("opset 20\n", "opset 20\nsymbol n 0..\n")
            .as_str(),
    );
    // Values of a branch are out of scope after it.
    assert_eq!((done.merged, text.matches("Exp").count(), text.matches("Sin").count()), (3, 1, 2), "{text}");
}

#[test]
fn what_is_random_or_returned_twice_or_differs_stays() {
    let (text, done) = cleaned(
        "opset 20\nsymbol n 0..\ngraph {\n  input %x: f32[n, 3]\n  %a: f32[n, 3] = RandomUniformLike(%x)\n  %b: f32[n, 3] = RandomUniformLike(%x)\n  %c: f32[n, 3] = Sub(%a, %b)\n  %d: f32[n, 3] = Exp(%x)\n  %e: f32[n, 3] = Exp(%x)\n  %f: f32[n, 3] = LeakyRelu(%x) {alpha = 0.5}\n  %g: f32[n, 3] = LeakyRelu(%x) {alpha = 0.25}\n  %h: f32[n, 3] = Add(%f, %g)\n  output %c as c\n  output %d as d\n  output %e as e\n  output %h as h\n}\n",
    );
    assert_eq!(done, Cleaned::default(), "{text}");
}

#[test]
fn sizes_are_equal_when_their_expressions_are() {
    let (text, done) = cleaned(
        "opset 20\nsymbol n 0..\ngraph {\n  constant %zero: i64[] = [0]\n  constant %one: i64[] = [1]\n  constant %axis: i64[1] = [0]\n  input %x: f32[n, 3]\n  input %y: f32[5, n]\n  input %z: f32[n, 3]\n  %a = Shape(%x)\n  %b = Gather(%a, %zero) {axis = 0}\n  %c = Shape(%y)\n  %d = Gather(%c, %one) {axis = 0}\n  %e = Mul(%b, %d)\n  %f = Gather(%a, %one) {axis = 0}\n  %g = Mul(%e, %f)\n  %h = Unsqueeze(%g, %axis)\n  %i: f32[?] = ConstantOfShape(%h)\n  output %i as i\n}\n",
    );
    // 3 is a number, and the second `n` is the first one.
    assert_eq!((done.known, done.merged), (1, 1), "{text}");
    assert_eq!((text.matches("Shape(").count(), text.matches("Gather").count()), (2, 1), "{text}");
}

#[test]
fn branches_and_loops_of_known_course_go() {
    let (text, done) = cleaned(
        "opset 20\nsymbol n 0..\ngraph {\n  constant %yes: bool[] = [true]\n  constant %no: bool[] = [false]\n  constant %one: i64[] = [1]\n  constant %many: i64[] = [4]\n  input %x: f32[n]\n  %a: f32[n] = If(%yes) {else_branch = {\n    %b: f32[n] = Neg(%x)\n    output %b\n  }, then_branch = {\n    constant %two: f32[] = [2.0]\n    %b: f32[n] = Mul(%x, %two)\n    output %b\n  }}\n  %c: f32[n], %d: f32[1, n] = Loop(%one, %yes, %a) {body = {\n    input %i: i64[]\n    input %go: bool[]\n    input %v: f32[n]\n    %f: f32[] = Cast(%i) {to = 1}\n    %w: f32[n] = Add(%v, %f)\n    output %go\n    output %w\n    output %v\n  }}\n  %e: f32[n] = Loop(%many, %no, %c) {body = {\n    input %i: i64[]\n    input %go: bool[]\n    input %v: f32[n]\n    %w: f32[n] = Exp(%v)\n    output %go\n    output %w\n  }}\n  output %d as d\n  output %e as e\n}\n",
    );
    assert_eq!(done.decided, 3, "{text}");
    assert!(!text.contains("If(") && !text.contains("Loop(") && text.contains("Unsqueeze"), "{text}");
}

#[test]
fn a_loop_hands_on_what_it_does_not_change() {
    let (text, _) = cleaned(
        "opset 20\nsymbol n 0..\ngraph {\n  input %m: i64[]\n  input %x: f32[n]\n  input %y: f32[n]\n  %a: f32[n], %b: f32[n] = Loop(%m, _, %x, %y) {body = {\n    input %i: i64[]\n    input %go: bool[]\n    input %v: f32[n]\n    input %w: f32[n]\n    %u: f32[n] = Add(%v, %w)\n    output %go\n    output %u\n    output %w\n  }}\n  %c: f32[n] = Exp(%b)\n  output %a as a\n  output %c as c\n}\n",
    );
    assert!(text.contains("Add(%v, %y)") && text.contains("Exp(%y)"), "{text}");
}

#[test]
fn functions_are_cleaned_with_their_own_opset() {
    let (text, done) = cleaned(
        "opset 20\nopset local 1\ngraph {\n  input %x: f32[3]\n  %y: f32[3] = local::F(%x)\n  output %y as y\n}\nfunction local::F() {\n  constant %one: f32[] = [1.0]\n  input %x\n  %0 = Exp(%one)\n  %1 = Sin(%x)\n  %2 = Sin(%x)\n  %3 = Add(%1, %2)\n  %4 = Mul(%3, %0)\n  %5 = Cos(%x)\n  output %4\n}\n",
    );
    assert_eq!((done.folded, done.merged, text.contains("Cos")), (1, 1, false), "{text}");
}

/// A guarded product with a mask of positions: `key` and `query` are counted to these, `mask` compares them.
fn guarded(key: &str, query: &str, past: &str, mask: &str) -> String {
    format!(
        "opset 20\nsymbol s 0..\nsymbol p 0..\ngraph {{\n  constant %start: i64[] = [0]\n  constant %step: i64[] = [1]\n  \
         constant %window: i64[] = [3]\n  constant %rows: i64[1] = [1]\n  constant %last: i64[1] = [-1]\n  \
         constant %zero: f32[] = [0.0]\n  constant %low: f32[] = [-inf]\n  input %x: f32[2, s, {key}]\n  \
         input %v: f32[2, {key}, 4]\n  input %old: f32[p]\n  %shape: i64[3] = Shape(%x)\n  \
         %places: i64[] = Gather(%shape, %two)\n  %lines: i64[] = Gather(%shape, %step)\n  \
         %before: i64[1] = Shape(%old)\n  %key: i64[{key}] = Range(%start, %places, %step)\n  \
         %own: i64[{query}] = Range(%start, %lines, %step)\n  %moved: i64[{query}] = Add(%own, {past})\n  \
         %query: i64[{query}, 1] = Unsqueeze(%moved, %rows)\n{mask}  %bias: f32[s, {key}] = Where(%mask, %zero, %low)\n  \
         %scores: f32[2, s, {key}] = Add(%x, %bias)\n  %soft: f32[2, s, {key}] = Softmax(%scores)\n  \
         %product: f32[2, s, 4] = MatMul(%soft, %v)\n  %most: f32[s, 1] = ReduceMax(%bias, %last)\n  \
         %open: bool[s, 1] = Equal(%most, %zero)\n  %y: f32[2, s, 4] = Where(%open, %product, %zero)\n  \
         output %y as y\n}}\n"
    )
    .replace("  constant %rows", "  constant %two: i64[] = [2]\n  constant %rows")
}

#[test]
fn guards_go_where_no_row_can_be_closed() {
    let causal = |extent: &str| format!("  %mask: bool[s, {extent}] = LessOrEqual(%key, %query)\n");
    let window = "  %near: i64[s, 1] = Sub(%query, %window)\n  %young: bool[s, p + s] = Greater(%key, %near)\n  %past: bool[s, p + s] = LessOrEqual(%key, %query)\n  %mask: bool[s, p + s] = And(%young, %past)\n";
    for text in [
        guarded("s", "s", "%start", &causal("s")),
        guarded("p + s", "s", "%before", &causal("p + s")),
        guarded("p + s", "s", "%before", window),
    ] {
        let (after, done) = cleaned(&text);
        assert!(done.decided == 1 && !after.contains("ReduceMax"), "{after}");
    }
}

#[test]
fn guards_stay_where_a_row_may_be_closed() {
    let of = |mask: &str| guarded("p + s", "s", "%before", mask);
    let strict = "  %mask: bool[s, s] = Less(%key, %query)\n";
    let apart = "  %near: i64[s, 1] = Sub(%query, %window)\n  %young: bool[s, p + s] = Greater(%key, %query)\n  %past: bool[s, p + s] = LessOrEqual(%key, %near)\n  %mask: bool[s, p + s] = And(%young, %past)\n";
    let beyond = "  %mask: bool[s, p + s] = Greater(%key, %query)\n";
    for text in [
        guarded("s", "s", "%start", strict),
        of(apart),
        of(beyond),
        guarded("p", "s", "%start", "  %mask: bool[s, p] = LessOrEqual(%key, %query)\n"),
    ] {
        let (after, done) = cleaned(&text);
        assert!(done.decided == 0 && after.contains("ReduceMax"), "{after}");
    }
}

/// A model that compares the position of a single token, after `p` others, with all positions, and uses the result.
fn single(compared: &str, made: &str) -> String {
    format!(
        "opset 20\nsymbol p 0..\ngraph {{\n  constant %zero: i64[] = [0]\n  constant %one: i64[] = [1]\n  \
         constant %axes: i64[1] = [0]\n  input %old: f32[p]\n  input %open: bool[1, p + 1]\n  input %row: bool[1, 1]\n  \
         input %x: f32[2, p + 1]\n  %before: i64[1] = Shape(%old)\n  %past: i64[] = Squeeze(%before, %axes)\n  \
         %count: i64[] = Add(%past, %one)\n  %keys: i64[p + 1] = Range(%zero, %count, %one)\n  \
         %own: i64[1, 1] = Unsqueeze(%before, %axes)\n  %all: bool[1, p + 1] = {compared}\n{made}  output %y as y\n}}\n"
    )
}

#[test]
fn comparisons_that_always_hold_go() {
    let both = "  %y: bool[1, p + 1] = And(%all, %open)\n";
    for compared in ["LessOrEqual(%keys, %own)", "GreaterOrEqual(%own, %keys)"] {
        let (after, done) = cleaned(&single(compared, both));
        assert!(done.decided == 1 && after.contains("[true]") && !after.contains("Range"), "{after}");
    }
    for compared in ["Less(%own, %keys)", "Greater(%keys, %own)"] {
        let (after, done) = cleaned(&single(compared, both));
        assert!(done.decided == 1 && after.contains("[false]") && !after.contains("Range"), "{after}");
    }
    let choice = "  %y: f32[2, p + 1] = Where(%all, %x, %low)\n";
    let (after, done) = cleaned(
        &single("LessOrEqual(%keys, %own)", choice)
            .replace("  constant %axes", "  constant %low: f32[] = [-inf]\n  constant %axes"),
    );
    assert!(done.decided == 1 && after.contains("[true]"), "{after}");
}

#[test]
fn comparisons_stay_that_may_differ_or_give_a_shape() {
    let both = "  %y: bool[1, p + 1] = And(%all, %open)\n";
    for compared in ["Less(%keys, %own)", "LessOrEqual(%own, %keys)", "Greater(%keys, %zero)"] {
        let (after, done) = cleaned(&single(compared, both));
        assert!(done.decided == 0 && after.contains("Range"), "{after}");
    }
    for made in ["  %y: bool[1, p + 1] = And(%all, %row)\n", "  %y: bool[1, p + 1] = Not(%all)\n"] {
        let (after, done) = cleaned(&single("LessOrEqual(%keys, %own)", made));
        assert!(done.decided == 0 && after.contains("Range"), "{after}");
    }
}

#[test]
fn sizes_that_folding_makes_known_make_others_known() {
    let text = "opset 20
graph {
  constant %four: i64[1] = [4]
  constant %half: f32[1] = [0.5]
  input %x: f32[2, 4]
  %float: f32[1] = Cast(%four) {to = 1}
  %two: f32[1] = Mul(%float, %half)
  %rows: i64[1] = Cast(%two) {to = 7}
  %all: i64[2] = Concat(%rows, %four) {axis = 0}
  %flat = Reshape(%x, %all)
  %shape: i64[2] = Shape(%flat)
  %y: f32[2, 4] = Reshape(%x, %shape)
  output %y as y
}
";
    let mut model = crate::ir::Model::parse(text).expect("a model");
    crate::clean::clean(&mut model, 1 << 14);
    assert_eq!(model.graph.node_count(), 1, "{}", model.to_text());
}
