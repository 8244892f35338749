//! Suggested code after a failed conversion: it compiles and works.

use std::path::Path;

use onnxport_core::diagnose::{Report, Subject, Suggestion};
use onnxport_core::host::{Host, PluginRoot};
use onnxport_core::lower::{DimName, LowerOptions, OutputNames, lower};
use onnxport_core::program::Program;

/// Pasted lowerings: the file equals the suggestions for [`PROGRAM`].
mod pasted {
    use onnxport_sdk::prelude::*;

    include!("suggested/pasted.rs");

    onnxport_sdk::export_plugin! {
        id: "shop",
        schemas: "\
            shop::pick.out(Tensor x, int[] at, Tensor? mask, bool type, str mode) -> (Tensor, Tensor[])\n\
            shop::softcap(Tensor self, float cap, SymInt size) -> Tensor\n"
    }
}

const PROGRAM: &str = "\
symbol n 1..
graph {
  input %x: f32[n, 3] = user
  input %y: f32[4] = user
  %n: symint(n) = aten.sym_size.int(self=%x, dim=0)
  %a: f32[n, 3] = shop.softcap.default(self=%x, cap=30.0, size=%n)
  %b: f32[n], [%c: f32[3], %d: i64[]] = shop.pick.out(x=%a, at=[0, 1], mask=none, type=true, mode=\"a \\\"\\\"\\\" b\")
  %e: f32[n, 3] = shop.softcap.default(self=%x, cap=3.0, size=%n)
  output %a = user
  output %b = user
  output %e = user
}
";

fn lowered(plugins: &[&'static PluginRoot], text: &str, options: &LowerOptions) -> Report {
    let host = Host::new(plugins).expect("the plugins attach");
    let program = Program::parse(text).expect("a program");
    lower(&host, program, options, &OutputNames::default()).expect_err("something is missing")
}

fn suggestions(report: &Report, subject: Subject) -> Vec<&Suggestion> {
    report.diagnostics.iter().flat_map(|d| &d.suggestions).filter(|s| s.subject == subject).collect()
}

#[test]
fn lowerings_in_rust_are_pasted_and_called() {
    let report = lowered(&[&onnxport_aten::ROOT], PROGRAM, &LowerOptions::default());
    let found = suggestions(&report, Subject::Plugin);
    let text: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
    let text = format!("{}\n", text.join("\n\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("suggested/pasted.rs");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).expect("the file can be written");
    }
    assert_eq!(std::fs::read_to_string(&path).expect("the file is there"), text, "UPDATE=1 writes it");
    for (one, schema) in found.iter().zip([
        "shop::softcap(Tensor self, float cap, SymInt size) -> Tensor",
        "shop::pick.out(Tensor x, int[] at, Tensor? mask, bool type, str mode) -> (Tensor, Tensor[])",
    ]) {
        assert!(one.title.ends_with(schema), "{}", one.title);
    }
    // As a plugin they take the calls, and say that they are not written yet.
    let report = lowered(&[&onnxport_aten::ROOT, &pasted::ROOT], PROGRAM, &LowerOptions::default());
    let messages: Vec<&str> = report.diagnostics.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`shop.softcap.default` cannot be lowered: `shop::softcap` is not written yet",
            "`shop.softcap.default` cannot be lowered: `shop::softcap` is not written yet",
        ]
    );
}

#[test]
fn an_operator_is_suggested_once() {
    let report = lowered(&[&onnxport_aten::ROOT], PROGRAM, &LowerOptions::default());
    let names: Vec<String> = suggestions(&report, Subject::Lowering)
        .iter()
        .map(|one| one.text.lines().find(|line| line.starts_with('@')).unwrap_or_default().to_owned())
        .collect();
    assert_eq!(names, ["@onnxport.lowering(\"shop::softcap\")", "@onnxport.lowering(\"shop::pick.out\")"]);
}

#[test]
fn texts_of_a_file_are_not_suggested() {
    let report = lowered(&[&onnxport_aten::ROOT], PROGRAM, &LowerOptions::default());
    for one in report.diagnostics.iter().flat_map(|d| &d.suggestions) {
        assert!(!one.text.contains(r#"a """ b"#), "{}", one.text);
    }
    let odd = "graph {\n  input %x: f32[2] = user\n  %a: f32[2] = call \"shop.do\\\"it.default\"(x=%x)\n  output %a = user\n}\n";
    let report = lowered(&[&onnxport_aten::ROOT], odd, &LowerOptions::default());
    assert!(report.diagnostics[0].suggestions.is_empty());
}

#[test]
fn dynamic_shapes_have_the_names_and_the_structure_of_the_call() {
    let leaf = r#"{"type": null, "context": null, "children_spec": []}"#;
    let node = |kind: &str, context: &str, children: &[&str]| {
        let (kind, context) = (format!("builtins.{kind}"), serde_json::json!(context));
        format!(r#"{{"type": "{kind}", "context": {context}, "children_spec": [{}]}}"#, children.join(", "))
    };
    let empty = node("dict", "[]", &[]);
    let shapes = |args: &[&str], kwargs: &str, inputs: &str| {
        let spec = format!("[1, {}]", node("tuple", "null", &[&node("tuple", "null", args), kwargs]));
        let quoted = serde_json::json!(spec);
        let text = format!("in_spec {quoted}\nsymbol n 1..\ngraph {{\n{inputs}  output %x = user\n}}\n");
        let dim = DimName { input: "x".to_owned(), axis: 0, name: "batch".to_owned() };
        let options = LowerOptions { dims: vec![dim], ..LowerOptions::default() };
        let report = lowered(&[&onnxport_aten::ROOT], &text, &options);
        suggestions(&report, Subject::Shapes).first().map(|one| one.text.clone())
    };
    let export = |shapes: &str| Some(format!("torch.export.export(model, args, dynamic_shapes={shapes})"));
    let flat = "  input %x: f32[4, 3] = user\n  input %mask: f32[n, 3] = user\n";
    let dynamic = "torch.export.Dim.DYNAMIC";
    assert_eq!(
        shapes(&[leaf, leaf], &empty, flat),
        export(&format!(r#"{{"x": {{0: {dynamic}}}, "mask": {{0: torch.export.Dim.AUTO}}}}"#))
    );
    let named = node("dict", r#"["mask"]"#, &[leaf]);
    assert_eq!(shapes(&[leaf], &named, flat), shapes(&[leaf, leaf], &empty, flat));
    let pair = node("list", "null", &[leaf, leaf]);
    assert_eq!(
        shapes(&[&pair], &empty, flat),
        export(&format!("([{{0: {dynamic}}}, {{0: torch.export.Dim.AUTO}}],)"))
    );
    // The name of the argument is not known.
    assert_eq!(shapes(&[&node("list", "null", &[leaf])], &named, flat), None);
}
