//! File tests of legalising: `tests/files/legalise/*.txt`.
//!
//! Sections:
//! - `target` (optional): the name of a target, which must run the model; ONNX Runtime when absent, which need not;
//! - `input`: a model in text form;
//! - `output`: what comes out, and behind it what is said.

use std::fmt::Write;

use onnxport_core::ir::{BlockId, Graph, Model};
use onnxport_core::legalise::{LegaliseOptions, Target, legalise};
use onnxport_core::ops::infer::infer;
use onnxport_core::sym::Symbols;

use crate::files::{Outcome, Sections, errors};

/// Infers the types of what the nodes of a block return, those in its inner blocks first.
fn type_block(graph: &mut Graph, symbols: &mut Symbols, opset: i64, block: BlockId) {
    for node in graph.order(block).collect::<Vec<_>>() {
        for inner in graph.nodes[node].blocks().collect::<Vec<_>>() {
            type_block(graph, symbols, opset, inner);
        }
        infer(graph, symbols, opset, node);
    }
}

fn outcome(sections: &Sections) -> Outcome {
    let mut model = Model::parse(sections.get("input").expect("an input section")).expect("a model");
    let (opset, main) = (model.opset(), model.graph.main());
    type_block(&mut model.graph, &mut model.symbols, opset, main);
    for function in &mut model.functions {
        let main = function.graph.main();
        type_block(&mut function.graph, &mut model.symbols, opset, main);
    }
    let options = match sections.get("target") {
        Some(text) if text.trim().contains(' ') => {
            let target = Target::parse(text).expect("a target");
            LegaliseOptions { target: target.into(), demanded: true }
        }
        Some(name) => {
            let target = Target::named(name.trim()).expect("a target");
            LegaliseOptions { target, demanded: true }
        }
        None => LegaliseOptions::default(),
    };
    match legalise(&mut model, &options) {
        Ok((_, said)) => {
            let found = onnxport_core::valid::validate(&model, &onnxport_core::valid::Stated::default());
            assert!(found.is_empty(), "{found:?}");
            let mut text = model.to_text();
            for found in said {
                let _ = writeln!(text, "{found}");
            }
            ("output", text)
        }
        Err(report) => ("error", errors(&report)),
    }
}

file_tests!("legalise", outcome);
