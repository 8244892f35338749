//! File tests of the graph: `tests/ir/*.txt`.
//!
//! A file holds sections, each opened by a line `--- name`:
//! - `input`: a model in text form;
//! - any of `infer` (the types of what nodes make, inferred in order), `tidy` and `validate`: what
//!   comes out, each from the input. `UPDATE=1` rewrites them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use onnxport_core::ir::validate::{Stated, validate};
use onnxport_core::ir::{BlockId, Model, infer, tidy};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ir");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "txt"));
    files.sort();
    files
}

/// The sections of a file, in order.
fn sections(text: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("--- ") {
            sections.push((name.trim().to_owned(), String::new()));
        } else if let Some((_, body)) = sections.last_mut() {
            body.push_str(line);
            body.push('\n');
        }
    }
    sections
}

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

fn outcome(section: &str, input: &str) -> String {
    let mut model = match Model::parse(input) {
        Ok(model) => model,
        Err(error) => return format!("input:{error}\n"),
    };
    match section {
        "infer" => {
            let main = model.graph.main();
            infer_block(&mut model, main);
            model.to_text()
        }
        "tidy" => {
            tidy::tidy(&mut model.graph);
            model.to_text()
        }
        "validate" => {
            let mut text = String::new();
            for diagnostic in validate(&model, &Stated::default()) {
                let _ = writeln!(text, "{}: {}", diagnostic.code, diagnostic.message);
            }
            text
        }
        other => panic!("there is no section `{other}`"),
    }
}

#[test]
fn files_say_what_comes_out() {
    let mut failed = Vec::new();
    let update = std::env::var_os("UPDATE").is_some();
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let sections = sections(&text);
        let (first, input) = &sections[0];
        assert_eq!(first, "input", "{}", path.display());
        let mut new = format!("--- input\n{input}");
        for (section, _) in &sections[1..] {
            let _ = write!(new, "--- {section}\n{}", outcome(section, input));
        }
        if new != text && update {
            std::fs::write(&path, new).unwrap();
        } else if new != text {
            failed.push(format!("{}:\n{new}", path.display()));
        }
    }
    assert!(failed.is_empty(), "UPDATE=1 accepts what came out:\n{}", failed.join("\n"));
}
