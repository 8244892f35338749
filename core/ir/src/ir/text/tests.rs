use crate::ir::Model;
use crate::tensor::DType;
use crate::valid;

const TEXT: &str = r#"opset 20
opset com.microsoft 1
symbol s0 2..100 hint 3
symbol u0 0..
metadata onnxport.torch "2.15.0"
graph {
  constant %fc1.weight: f32[16, 8] = ...
  constant %0: i64[2] = [0, -1]
  constant %odd: f32[3] = [1.0, -inf, 1e-30]
  constant %mask: bool[2] = [true, false]
  constant %half: f16[1] = [0.5]
  constant %packed: f8e4m3fn[2] = hex "7f01"
  constant %empty: f32[0] = []
  input %x: f32[s0, 2, 4]
  input %"a b": i64[]
  input %steps: f32[1]
  %1: f32[s0, 8] = Reshape(%x, %0) @ view (aten.view.default) in fc1 at "model.py":12
  %linear: f32[s0, 16] = Gemm(%1, %fc1.weight, _) {alpha = 0.5, transB = 1} @ linear
  %2: f32[s0, ?], _ = Dropout(%linear)
  %3: f32 = com.microsoft::Gelu(%2)
  %4 = my.domain::Odd() {a = ints[], b = [1, -2], c = [1.0, inf], d = ["x", "y \"z\""], e = "s", f = tensor i64[1] [7], g = strs[], h = floats[], i = ref outer}
  %5: bool[] = Greater(%"a b", %"a b")
  %6: f32[?, 16] = If(%5) {else_branch = {
    %7: f32[s0, 16] = Tanh(%linear)
    output %7
  }, then_branch = {
    %inner: f32[s0, 16] = If(%5) {else_branch = {
      output %linear
    }, then_branch = {
      %8: f32[2*s0 + 1, 16] = Relu(%linear)
      output %8
    }}
    output %inner
  }}
  %9: seq f32 = SequenceConstruct(%6)
  output %6 as y
  output %6 as "y again"
  state buffer counter.steps %steps -> 0 = f32[1] [2.0]
  state input x %x -> 1
}
function local.domain::Twice(alpha) {
  constant %two: f32[] = [2.0]
  input %x
  %0 = Mul(%x, %two)
  output %0
}
"#;

#[test]
fn text_reads_back() {
    let model = Model::parse(TEXT).unwrap();
    assert_eq!(model.to_text(), TEXT);
    assert_eq!(model.graph.initializers[3].data.dtype, DType::Bool);
    assert_eq!(model.states[0].output, 0);
    assert_eq!(model.origins.len(), 2);
}

#[test]
fn a_model_that_was_read_is_sound() {
    let text = r"opset 21
symbol s0 2..
graph {
  constant %0: f32[8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
  input %x: f32[s0, 8]
  %1: f32[s0, 8] = Add(%x, %0)
  %2: f32[s0, 8] = Relu(%1)
  output %2 as y
}
";
    let model = Model::parse(text).unwrap();
    let found = valid::validate(&model, &valid::StatedTypes::default());
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn errors_name_the_place() {
    let error = |text: &str| Model::parse(text).unwrap_err().to_string();
    assert_eq!(error("graph {\n  output %x\n}"), "2:12: `%x` is not defined");
    assert!(error("graph {\n  %0 = A()\n  %0 = B()\n}").contains("`0` is defined twice"));
    assert!(error("graph {\n  constant %c: f32[2] = [1.0]\n}").contains("does not fit the shape"));
    assert!(error("graph {\n  constant %c: u8[1] = [256]\n}").contains("`256` is not of type u8"));
    assert!(error("graph {\n  constant %c: f32[?] = ...\n}").contains("constant sizes"));
    assert!(error("graph {\n  %0 = A() {b = [1, 1.5]}\n}").contains("in one list"));
    assert!(error("").contains("expected a word"));
    assert!(error("graph {").contains("expected"));
    let deep = format!("graph {{ {}", "%0 = A() {b = {".repeat(100_000));
    assert!(error(&deep).contains("too deeply"));
}

#[test]
fn a_value_whose_name_an_outer_one_has_is_printed_as_a_number() {
    let text = "graph {\n  input %c: bool[]\n  %0 = If(%c) {then_branch = {\n    %b = A()\n    output %b\n  }}\n  output %0 as y\n}\n";
    let mut model = Model::parse(text).unwrap();
    let inner =
        model.graph.values.ids().find(|value| model.graph.values[*value].name.as_deref() == Some("b"));
    model.graph.values[inner.unwrap()].name = Some("c".into());
    let printed = model.to_text();
    assert!(printed.contains("%c: bool[]") && printed.contains("%1 = A()\n    output %1\n"), "{printed}");
    assert_eq!(Model::parse(&printed).unwrap().to_text(), printed);
}

#[test]
fn a_nested_value_is_not_visible_outside() {
    let text = "graph {\n  input %c: bool[]\n  %0 = If(%c) {then_branch = {\n    %1 = A()\n    output %1\n  }}\n  output %1 as y\n}\n";
    assert!(Model::parse(text).unwrap_err().to_string().contains("`1` is not defined"));
}

#[test]
fn a_node_without_results_is_not_the_default_of_an_input() {
    let text = "graph {\n  input %x: f32[2]\n  none = t::Print(%x)\n  output %x as y\n}\n";
    assert_eq!(Model::parse(text).unwrap().to_text(), text);
}
