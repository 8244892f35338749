//! File tests of the check of programs against themselves: `tests/meta/*.txt`.
//!
//! Sections:
//! - `input`: a program in text form;
//! - `output`: what is known, when nothing contradicts it; `error`: every contradiction.

use onnxport_core::diagnose::Report;
use onnxport_core::meta::check;
use onnxport_core::program::Program;
use onnxport_core::registry::Schemas;
use onnxport_tests::{Sections, errors, root, run_files};

fn outcome(sections: &Sections, schemas: &Schemas) -> (&'static str, String) {
    let program = match Program::parse(sections.get("input").expect("an input section")) {
        Ok(program) => program,
        Err(error) => return ("error", format!("input:{error}\n")),
    };
    let checked = check(&program, schemas);
    if checked.diagnostics.is_empty() {
        let operators: Vec<&str> = checked.operators.iter().map(String::as_str).collect();
        let operators = operators.join(" ");
        return ("output", format!("{} known, {} unknown: {operators}\n", checked.known, checked.unknown));
    }
    ("error", errors(&Report { diagnostics: checked.diagnostics, origins: program.origins }))
}

#[test]
fn files() {
    let read = |set: &str| std::fs::read_to_string(root().join("../plugins").join(set).join("schemas.txt"));
    let schemas = Schemas::new(["aten", "torchvision"].map(|set| read(set).expect("the schemas")));
    run_files("meta", |sections| outcome(sections, &schemas));
}
