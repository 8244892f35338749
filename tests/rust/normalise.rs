//! File tests of the normaliser: `tests/files/normalise/*.txt`.
//!
//! Sections:
//! - `steps` (optional): the steps to run, by name; all when absent;
//! - `schemas` (optional): schemas of custom operators;
//! - `input`: a program in text form;
//! - `output` or `error`: the result.

use std::sync::LazyLock;

use crate::files::{Outcome, Sections, errors, schemas};
use onnxport_core::normalise::run_steps;
use onnxport_core::program::Program;
use onnxport_core::registry::Schemas;

fn outcome(sections: &Sections) -> Outcome {
    static KNOWN: LazyLock<String> = LazyLock::new(|| schemas("aten"));
    let input = sections.get("input").expect("an input section");
    let program = match Program::parse(input) {
        Ok(program) => program,
        Err(error) => return ("error", format!("input:{error}\n")),
    };
    let steps: Option<Vec<&str>> = sections.get("steps").map(|s| s.split_whitespace().collect());
    let custom = sections.get("schemas").unwrap_or_default();
    let schemas = Schemas::new([&**KNOWN, custom]);
    let wanted = |name: &str| steps.as_ref().is_none_or(|s| s.contains(&name));
    match run_steps(program, &schemas, wanted) {
        Ok(program) => {
            let text = program.to_text();
            let again = Program::parse(&text).map(|p| p.to_text());
            assert_eq!(again.as_ref(), Ok(&text), "the output does not read back");
            ("output", text)
        }
        Err(report) => ("error", errors(&report)),
    }
}

file_tests!("normalise", outcome);
