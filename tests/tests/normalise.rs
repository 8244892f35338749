//! File tests of the normaliser: `tests/normalise/*.txt`.
//!
//! Sections:
//! - `steps` (optional): the steps to run, by name; all when absent;
//! - `schemas` (optional): schemas of custom operators;
//! - `input`: a program in text form;
//! - `output` or `error`: what comes out.

use onnxport_core::normalise::run_steps;
use onnxport_core::program::Program;
use onnxport_core::registry::Schemas;
use onnxport_tests::{Sections, errors, root, run_files};

/// What comes out of a file, as the name of its section and its text.
fn outcome(sections: &Sections, schemas: &str) -> (&'static str, String) {
    let input = sections.get("input").expect("an input section");
    let program = match Program::parse(input) {
        Ok(program) => program,
        Err(error) => return ("error", format!("input:{error}\n")),
    };
    let steps: Option<Vec<&str>> = sections.get("steps").map(|s| s.split_whitespace().collect());
    let custom = sections.get("schemas").unwrap_or_default();
    let schemas = Schemas::new([schemas, custom]);
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

#[test]
fn files() {
    let schemas = std::fs::read_to_string(root().join("../plugins/aten/schemas.txt")).expect("the schemas");
    run_files("normalise", |sections| outcome(sections, &schemas));
}
