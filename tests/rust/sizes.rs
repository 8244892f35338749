//! File tests of the sizes that a program takes: `tests/files/sizes/*.txt`.
//!
//! Sections:
//! - `options` (optional): `require x:0`, `dim x:0=batch`, a line each;
//! - `input`: a program in text form;
//! - `output`: its sizes, conditions, warnings and notes, or `error`.

use std::fmt::Write;
use std::sync::LazyLock;

use onnxport_core::diagnose::Report;
use onnxport_core::host::Host;
use onnxport_core::program::Program;
use onnxport_core::sizes::{self, InputAxis, InterfaceNames};

use crate::files::{Outcome, Sections, errors};

fn outcome(sections: &Sections) -> Outcome {
    static HOST: LazyLock<Host> =
        LazyLock::new(|| Host::new(&[&onnxport_aten::ROOT]).expect("the plugin attaches"));
    let program = Program::parse(sections.get("input").expect("an input section")).expect("a program");
    let (mut naming, mut required) = (InterfaceNames::default(), Vec::new());
    for line in sections.get("options").unwrap_or_default().lines() {
        let (option, place) = line.split_once(' ').expect("an option");
        let (place, name) = place.split_once('=').unwrap_or((place, ""));
        let (input, axis) = place.split_once(':').expect("input:axis");
        let (input, axis) = (input.to_owned(), axis.parse().expect("an axis"));
        match option {
            "require" => required.push(InputAxis { input, axis }),
            "dim" => naming.dims.push((input, axis, name.to_owned())),
            _ => panic!("unknown option `{line}`"),
        }
    }
    let effective = sizes::effective(&program, &HOST.schemas, &naming);
    if let Err(report) = sizes::require(&program, &effective, &required) {
        return ("error", errors(&report));
    }
    let mut out = String::new();
    for dim in &effective.stated.dims {
        writeln!(out, "{}: {dim} ({})", dim.name, dim.axes.join(", ")).expect("a String");
    }
    for condition in &effective.stated.conditions {
        let line = condition.line.as_deref().unwrap_or("unknown line");
        writeln!(out, "{} ({line})", condition.expression).expect("a String");
    }
    let report = Report { diagnostics: effective.diagnostics(), origins: program.origins.clone() };
    writeln!(out, "{report}").expect("a String");
    ("output", out)
}

file_tests!("sizes", outcome);
