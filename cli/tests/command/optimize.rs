//! `onnxport optimize`: the parts that it leaves unchanged, and `--verify`.

use std::path::Path;

use onnxport_core::Model;
use serde_json::{Value, json};

use crate::program::{folder, onnxport, succeed, write_model};

/// A folder with the model of this text as `m.onnx`.
fn model(text: &str) -> (tempfile::TempDir, impl Fn(&str) -> String + use<>) {
    let (folder, at) = folder();
    write_model(at("m.onnx"), text);
    (folder, at)
}

/// Returns the text of the optimized `m.onnx`, and the report.
fn optimised(at: &impl Fn(&str) -> String, options: &[&str]) -> (String, Value) {
    let said = succeed(&[&["optimize", &at("m.onnx"), "-o", &at("n.onnx")], options].concat());
    (Model::read(at("n.onnx")).expect("a model").to_text(), said)
}

const NEGATIONS: &str = "opset 20\ngraph {\n  input %x: f32[n, 3]\n  %a: f32[n, 3] = Neg(%x)\n  %b: f32[n, 3] = Neg(%a)\n  \
                         %c: f32[n, 3] = Exp(%b)\n  output %c as y\n}\n";

fn negations() -> String {
    NEGATIONS.replacen("graph {", "symbol n 1..8\ngraph {", 1)
}

#[test]
fn the_model_before_says_what_must_come_out() {
    let (_folder, at) = model(&negations());
    let (text, said) = optimised(&at, &["--verify", "--executor", "reference"]);
    assert_eq!(text.matches("Neg(").count(), 0);
    let verification = &said["verification"];
    let cases = verification["cases"].as_array().expect("cases");
    assert!(cases.len() > 1, "several sizes are drawn: {said}");
    assert_eq!(verification["values_compared"], true);
    assert!(verification["oracle"].as_str().expect("a text").contains("m.onnx in "), "{verification}");
    assert_eq!(said["against"], at("m.onnx"));
}

#[test]
fn a_model_that_cannot_be_run_is_not_written_where_it_is_to_be_verified() {
    let text = "opset 20\nopset com.example 1\ngraph {\n  input %x: f32[2]\n  %y: f32[2] = com.example::Thing(%x)\n  \
                output %y as y\n}\n";
    let (_folder, at) = model(text);
    let arguments = ["optimize", &at("m.onnx"), "-o", &at("n.onnx"), "--verify", "--executor", "reference"];
    let output = onnxport(&arguments);
    assert!(!output.status.success());
    assert!(!Path::new(&at("n.onnx")).exists(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn options_of_verifying_need_it() {
    let (_folder, at) = model(&negations());
    for option in [&["--rtol", "1"][..], &["--seed", "1"], &["--keep-failed"]] {
        let output = onnxport(&[&["optimize", &at("m.onnx"), "-o", &at("n.onnx")], option].concat());
        assert_eq!(output.status.code(), Some(2), "{option:?}");
    }
}

#[test]
fn inputs_and_outputs_keep_their_names_and_their_order() {
    let text = "opset 20\ngraph {\n  input %first: f32[2]\n  input %unread: f32[2]\n  %a: f32[2] = Neg(%first)\n  \
                %b: f32[2] = Neg(%a)\n  %c: f32[2] = Identity(%unread)\n  output %b as one\n  output %c as two\n  \
                output %b as three\n}\n";
    let (_folder, at) = model(text);
    let (text, _) = optimised(&at, &["--verify", "--executor", "reference"]);
    let ports: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("input ") || line.contains("output "))
        .map(str::trim)
        .collect();
    let [first, unread, one, two, three] = ports[..] else { panic!("{text}") };
    assert_eq!((first, unread), ("input %first: f32[2]", "input %unread: f32[2]"));
    for (port, name) in [(one, "one"), (two, "two"), (three, "three")] {
        assert!(port.starts_with("output ") && port.ends_with(name), "{text}");
    }
}

#[test]
fn quantised_values_and_foreign_operators_stay() {
    let text = "opset 20\nopset com.example 1\ngraph {\n  constant %scale: f32[] = [0.5]\n  constant %zero: i8[] = [0]\n  \
                constant %code: i8[1] = [3]\n  input %x: f32[2]\n  %w: f32[1] = DequantizeLinear(%code, %scale, %zero)\n  \
                %q: i8[2] = QuantizeLinear(%x, %scale, %zero)\n  %d: f32[2] = DequantizeLinear(%q, %scale, %zero)\n  \
                %p: f32[2] = Mul(%d, %w)\n  %f: f32[2] = com.example::Thing(%p) {mode = \"a\"}\n  output %f as y\n}\n";
    let (_folder, at) = model(text);
    for level in ["1", "2", "target"] {
        let (text, _) = optimised(&at, &["--optimize", level]);
        assert_eq!(
            (text.matches("= QuantizeLinear(").count(), text.matches("= DequantizeLinear(").count()),
            (1, 2)
        );
        assert_eq!(text.matches("com.example::Thing(").count(), 1, "{text}");
    }
}

#[test]
fn what_is_tied_stays_tied() {
    let text = "opset 20\ngraph {\n  constant %w: f32[2, 2] = [1.0, 2.0, 3.0, 4.0]\n  input %x: f32[2, 2]\n  \
                %a: f32[2, 2] = MatMul(%x, %w)\n  %b: f32[2, 2] = MatMul(%a, %w)\n  %c: f32[2, 2] = Neg(%b)\n  \
                %d: f32[2, 2] = Neg(%c)\n  output %d as y\n}\n";
    let (_folder, at) = model(text);
    let (text, said) = optimised(&at, &[]);
    assert_eq!(said["initializers"], 1, "{text}");
    assert_eq!(text.matches("%w").count(), 3, "declared once and read twice: {text}");
}

#[test]
fn an_old_model_stays_as_it_is_and_can_be_verified() {
    let (_folder, at) = model(&negations().replacen("opset 20", "opset 12", 1));
    let (text, said) = optimised(&at, &["--verify", "--executor", "reference"]);
    assert_eq!(text.matches("Neg(").count(), 2);
    assert_eq!(said["diagnostics"][0]["code"], "OP412");
    assert_eq!(said["verification"]["values_compared"], true);
}

#[test]
fn a_branch_that_is_taken_needs_no_type_of_its_own() {
    let text = "opset 20\ngraph {\n  constant %c: bool[] = [true]\n  input %x: f32[2]\n  %z = If(%c) {else_branch = \
                {\n    %b = Abs(%x)\n    output %b\n  }, then_branch = {\n    %a = Neg(%x)\n    output %a\n  }}\n  \
                %y: f32[2] = Identity(%z)\n  output %y as y\n}\n";
    let (_folder, at) = model(text);
    let (text, _) = optimised(&at, &[]);
    assert!(text.contains("f32[2] = Neg(%x)") && !text.contains("If("), "{text}");
}

#[test]
fn rules_that_other_options_allow_are_named() {
    let text = "opset 20\ngraph {\n  constant %axis: i64[1] = [-1]\n  constant %eps: f32[] = [1e-5]\n  \
                constant %gain: f32[4] = [1.0, 0.5, 2.0, 1.5]\n  input %a: f32[2, 3, 4]\n  \
                %0: f32[2, 3, 4] = Mul(%a, %a)\n  %1: f32[2, 3, 1] = ReduceMean(%0, %axis)\n  \
                %2: f32[2, 3, 1] = Add(%1, %eps)\n  %3: f32[2, 3, 1] = Sqrt(%2)\n  \
                %4: f32[2, 3, 4] = Div(%a, %3)\n  %5: f32[2, 3, 4] = Mul(%4, %gain)\n  \
                %6: f32[2, 3, 4] = Mish(%5)\n  output %6 as y\n}\n";
    let (_folder, at) = model(text);
    let (before, said) = optimised(&at, &[]);
    let unused: Vec<(&str, &Value, &Value)> = (said["optimised"]["unused"].as_array().into_iter().flatten())
        .map(|rule| (rule["name"].as_str().unwrap_or_default(), &rule["places"], &rule["with"]))
        .collect();
    let (opset, target) = (json!({ "opset": 23 }), json!({ "target": "onnxruntime" }));
    assert_eq!(unused, [("rms_norm", &json!(1), &opset), ("decompose_mish", &json!(1), &target)], "{said}");
    assert!(before.contains("\nopset 20\n") && before.contains("Mish("), "{before}");
    let shown = onnxport(&["optimize", &at("m.onnx"), "-o", &at("n.onnx")]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let line = "not used  rms_norm 1 (--opset 23), decompose_mish 1 (--target onnxruntime)\n";
    assert!(shown.contains(line), "{shown}");
    // The named option has the announced effect.
    let (after, said) = optimised(&at, &["--target", "onnxruntime"]);
    assert!(!after.contains("Mish("), "{after}");
    let unused = said["optimised"]["unused"].as_array().expect("the opset is still too low");
    assert!(unused.iter().all(|rule| rule["with"] == opset), "{said}");
    write_model(at("m.onnx"), &text.replace("opset 20", "opset 23"));
    assert!(optimised(&at, &[]).0.contains("RMSNormalization("));
}
