//! File tests of the graph: `tests/files/ir/*.txt`.
//!
//! - `step`: `infer` (the types of the results of nodes, in order), `tidy` or `validate`;
//! - `input`: a model in text form;
//! - `output` or `error`: the result.

use std::fmt::Write;

use onnxport_core::ir::{Model, opset};
use onnxport_core::ops::infer;
use onnxport_core::tidy;
use onnxport_core::valid::{StatedTypes, validate};
use onnxport_ir::ops;

use crate::files::{Outcome, Sections, repository};

fn outcome(sections: &Sections) -> Outcome {
    let mut model = match Model::parse(sections.get("input").expect("an input section")) {
        Ok(model) => model,
        Err(error) => return ("error", format!("input:{error}\n")),
    };
    match sections.get("step").map(str::trim) {
        Some("infer") => {
            let opset = model.opset();
            infer::infer_all(&mut model.graph, &mut model.symbols, opset);
        }
        Some("tidy") => {
            tidy::tidy(&mut model.graph);
        }
        Some("validate") => {
            let mut text = String::new();
            for diagnostic in validate(&model, &StatedTypes::default()) {
                let _ = writeln!(text, "{}: {}", diagnostic.code, diagnostic.message);
            }
            return ("error", text);
        }
        step => panic!("there is no step {step:?}"),
    }
    ("output", model.to_text())
}

file_tests!("ir", outcome);

/// `docs/onnx-operators.md`, from the tables.
fn page_of_operators() -> String {
    let mut names: Vec<&str> = opset::all().iter().map(|schema| schema.name).collect();
    names.dedup();
    let (mut rows, mut inferred, mut evaluated, mut defined, mut current) = (String::new(), 0, 0, 0, 0);
    for name in names {
        let versions = opset::all().iter().filter(|schema| schema.name == name);
        let shown: Vec<String> = versions
            .map(|schema| format!("{}{}", schema.since, if schema.deprecated { " (withdrawn)" } else { "" }))
            .collect();
        // Operators that the newest opset lacks are listed, and not counted.
        let counts = opset::lookup(name, opset::MAX_OPSET).is_some();
        let mark = |known: bool, count: &mut usize| {
            *count += usize::from(known && counts);
            if known { "yes" } else { "" }
        };
        current += usize::from(counts);
        let infers = mark(ops::lookup("", name).is_some_and(ops::Op::infers), &mut inferred);
        let evaluates =
            mark(ops::lookup("", name).is_some_and(|op| op.evaluator().is_some()), &mut evaluated);
        let versions: Vec<String> = ops::body::versions("", name).iter().map(u16::to_string).collect();
        mark(!versions.is_empty(), &mut defined);
        let bodies = versions.join(", ");
        let traits = traits("", name);
        let _ = writeln!(
            rows,
            "| {name} | {} | {infers} | {evaluates} | {bodies} | {traits} |",
            shown.join(", ")
        );
    }
    format!(
        "# ONNX's operators\n\n\
         For each operator of `ai.onnx`: its signatures, by their first opset; whether shapes are inferred; whether it has an\n\
         evaluator; the versions that ONNX defines by other operators (a body); and its traits.\n\
         `UPDATE=1 cargo test -p onnxport-tests ir` writes this page.\n\n\
         Of the {current} operators of opset {newest}, {inferred} have shape inference, {evaluated} an evaluator, and {defined}\n\
         a body, some of them one for each kind of call.\n\
         {without}\n\
         | operator | signatures | inference | evaluation | body | traits |\n|---|---|---|---|---|---|\n{rows}\n\
         ## Other domains of ONNX\n\n\
         | operator | inference | evaluation | body |\n|---|---|---|---|\n{others}",
        newest = opset::MAX_OPSET,
        without = without(),
        others = other_domains()
    )
}

/// The traits of an operator, as a text.
fn traits(domain: &str, name: &str) -> String {
    ops::traits_of(domain, name).names().collect::<Vec<_>>().join(", ")
}

/// A line for each operator that is not computed, and why.
fn without() -> String {
    let line = |(domain, name): (&str, &str)| {
        let shown = if domain.is_empty() { name.to_owned() } else { format!("{domain}::{name}") };
        ops::without(domain, name).map(|why| format!("{shown} has no evaluator: {why}.\n"))
    };
    let mut names: Vec<(&str, &str)> =
        opset::domains().iter().flat_map(|(domain, table)| table.iter().map(|s| (*domain, s.name))).collect();
    names.dedup();
    names.into_iter().filter_map(line).collect()
}

/// A row for each operator of ONNX's smaller domains.
fn other_domains() -> String {
    let yes = |known: bool| if known { "yes" } else { "" };
    let row = |(domain, name): (&str, &str)| {
        let op = ops::lookup(domain, name);
        let infers = yes(op.is_some_and(ops::Op::infers));
        let evaluates = yes(op.is_some_and(|op| op.evaluator().is_some()));
        let bodies: Vec<String> = ops::body::versions(domain, name).iter().map(u16::to_string).collect();
        format!("| {domain}::{name} | {infers} | {evaluates} | {} |\n", bodies.join(", "))
    };
    let mut names: Vec<(&str, &str)> =
        opset::domains().iter().flat_map(|(domain, table)| table.iter().map(|s| (*domain, s.name))).collect();
    names.retain(|(domain, _)| !domain.is_empty());
    names.dedup();
    names.into_iter().map(row).collect()
}

#[test]
fn the_page_of_operators_is_current() {
    let path = repository().join("docs/onnx-operators.md");
    let page = page_of_operators();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).expect("a writable page");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/onnx-operators.md is not current: UPDATE=1 writes it");
}
