//! File tests of the check of programs against themselves: `tests/files/meta/*.txt`.
//!
//! Sections:
//! - `input`: a program in text form;
//! - `output`: the known facts, if there is no contradiction; `error`: every contradiction.

use std::sync::LazyLock;

use crate::files::{Outcome, Sections, errors, schemas};
use onnxport_core::diagnose::Report;
use onnxport_core::meta::check;
use onnxport_core::program::Program;
use onnxport_core::registry::Schemas;

fn outcome(sections: &Sections) -> Outcome {
    static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| Schemas::new(["aten", "torchvision"].map(schemas)));
    let program = match Program::parse(sections.get("input").expect("an input section")) {
        Ok(program) => program,
        Err(error) => return ("error", format!("input:{error}\n")),
    };
    let checked = check(&program, &SCHEMAS);
    if checked.diagnostics.is_empty() {
        let operators: Vec<&str> = checked.operators.iter().map(String::as_str).collect();
        let operators = operators.join(" ");
        return ("output", format!("{} known, {} unknown: {operators}\n", checked.known, checked.unknown));
    }
    ("error", errors(&Report { diagnostics: checked.diagnostics, origins: program.origins }))
}

file_tests!("meta", outcome);
