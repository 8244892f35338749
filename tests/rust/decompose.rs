//! File tests of decompositions: `tests/files/decompose/*.txt`.
//!
//! Sections:
//! - `table`: decompositions, which go before those of `aten`;
//! - `mode` (optional): `none`, `core` or `all`; `core` when absent;
//! - `input`: a functional program in text form;
//! - `output` or `error`: the result. A decomposition that cannot be used is an error.

use crate::files::{Outcome, Sections, errors};
use onnxport_core::decompose::{DecomposeOptions, Decompositions, Mode, run};
use onnxport_core::diagnose::Report;
use onnxport_core::host::Host;
use onnxport_core::program::Program;

fn outcome(sections: &Sections) -> Outcome {
    let program = Program::parse(sections.get("input").expect("an input section")).expect("a program");
    let mode = match sections.get("mode").map(str::trim) {
        Some("none") => Mode::None,
        Some("all") => Mode::All,
        _ => Mode::Core,
    };
    let table = match Decompositions::read("table", sections.get("table").unwrap_or_default()) {
        Ok(table) => table,
        Err(problem) => return ("error", errors(&Report::from(problem))),
    };
    let host = Host::new(&[&onnxport_aten::ROOT]).expect("the plugin attaches");
    match run(&host, program, 20, &DecomposeOptions { mode, tables: vec![table] }) {
        Ok((program, _)) => ("output", program.to_text()),
        Err(report) => ("error", errors(&report)),
    }
}

file_tests!("decompose", outcome);

/// A call that computes with numbers; its arguments have no names.
const NUMBERS: &[&str] = &["_operator.", "math.", "torch."];

#[test]
fn every_decomposition_of_aten_calls_what_has_a_schema() {
    let host = Host::new(&[&onnxport_aten::ROOT]).expect("the plugin attaches");
    let table = host.decompositions.first().expect("a table");
    assert!(table.targets().len() > 30);
    for target in table.targets() {
        let schema = host.schemas.get(target).unwrap_or_else(|| panic!("`{target}` has no schema"));
        for template in table.of(target).expect("it can be read") {
            for (name, _) in &template.parameters {
                assert!(schema.args.iter().any(|arg| arg.name == *name), "{target} has no `{name}`");
            }
            for call in &template.body.calls {
                if NUMBERS.iter().any(|space| call.target.starts_with(space)) {
                    assert!(call.args.iter().all(|arg| arg.name.is_empty()), "{target}: `{}`", call.target);
                    continue;
                }
                let inner = host.schemas.get(&call.target);
                let inner = inner.unwrap_or_else(|| panic!("`{}` in {target} has no schema", call.target));
                for arg in &call.args {
                    assert!(inner.args.iter().any(|a| a.name == arg.name), "{}: `{}`", call.target, arg.name);
                }
                let is_lowered = !host.registry.providers(&call.target).is_empty();
                let is_size = call.target == "aten.sym_size.int";
                let is_made = table.contains(&call.target);
                assert!(
                    is_lowered || is_size || is_made || identity(&host, &call.target),
                    "nobody lowers `{}`",
                    call.target
                );
            }
        }
    }
}

fn identity(host: &Host, target: &str) -> bool {
    host.schemas.get(target).is_some_and(|schema| schema.facts.term("identity").is_some())
}
