//! File tests of verdicts: `tests/files/legal/*.txt`.
//!
//! Sections:
//! - `target`: the name of a target, or its lines;
//! - `input`: a model in text form;
//! - `output`: the verdict on each node, then the messages.

use std::fmt::Write;

use onnxport_core::ir::Model;
use onnxport_core::legalise::Target;
use onnxport_core::legalise::legal::legal;

use crate::files::{Outcome, Sections};
use crate::legalise::type_block;

fn outcome(sections: &Sections) -> Outcome {
    let mut model = Model::parse(sections.get("input").expect("an input section")).expect("a model");
    let (opset, main) = (model.opset(), model.graph.main());
    type_block(&mut model.graph, &mut model.symbols, opset, main);
    let target = sections.get("target").expect("a target").trim();
    let target = match Target::named(target) {
        Some(target) => target,
        None => Target::parse(target).expect("a target").into(),
    };
    let (found, said) = legal(&mut model, &target);
    let mut text = String::new();
    for node in &found.nodes {
        let change = node.change.as_ref().map_or(String::new(), |change| format!(" ({change})"));
        let verdict = format!("{:?}", node.verdict).to_lowercase();
        let _ = writeln!(text, "{verdict} {} {}: {}{change}", node.operator, node.version, node.reason);
    }
    for found in said {
        let _ = writeln!(text, "{found}");
    }
    ("output", text)
}

file_tests!("legal", outcome);
