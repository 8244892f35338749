//! File tests of the graph: `tests/ir/*.txt`.
//!
//! - `step`: `infer` (the types of what nodes make, in order), `tidy` or `validate`;
//! - `input`: a model in text form;
//! - `output` or `error`: what comes out.

use std::fmt::Write;

use onnxport_core::ir::validate::{Stated, validate};
use onnxport_core::ir::{BlockId, Model, infer, tidy};
use onnxport_tests::{Sections, run_files};

fn infer_block(model: &mut Model, block: BlockId) {
    let opset = model.opset();
    let nodes: Vec<_> = model.graph.order(block).collect();
    for node in nodes {
        let inner: Vec<BlockId> = model.graph.nodes[node].blocks().collect();
        for block in inner {
            infer_block(model, block);
        }
        infer::infer(&mut model.graph, &mut model.symbols, opset, node);
    }
}

fn outcome(sections: &Sections) -> (&'static str, String) {
    let mut model = match Model::parse(sections.get("input").expect("an input section")) {
        Ok(model) => model,
        Err(error) => return ("error", format!("input:{error}\n")),
    };
    match sections.get("step").map(str::trim) {
        Some("infer") => {
            let main = model.graph.main();
            infer_block(&mut model, main);
        }
        Some("tidy") => {
            tidy::tidy(&mut model.graph);
        }
        Some("validate") => {
            let mut text = String::new();
            for diagnostic in validate(&model, &Stated::default()) {
                let _ = writeln!(text, "{}: {}", diagnostic.code, diagnostic.message);
            }
            return ("error", text);
        }
        step => panic!("there is no step {step:?}"),
    }
    ("output", model.to_text())
}

#[test]
fn files_say_what_comes_out() {
    run_files("ir", outcome);
}
