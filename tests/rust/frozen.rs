//! File tests of the sizes with which a program was traced: `tests/files/frozen/*.txt`.
//!
//! Sections:
//! - `options` (optional): `dim x:0=8`, a size that is given; `example x:0=8`, a size in the example inputs; a line each;
//! - `input`: a program in text form;
//! - `output`: the sizes of the remaining axes, and the program's inputs with all sizes, or `error`.

use std::fmt::Write;
use std::sync::LazyLock;

use onnxport_core::host::Host;
use onnxport_core::program::Program;
use onnxport_core::sizes::{self, AxisSize};

use crate::files::{Outcome, Sections, errors};

fn size(text: &str) -> AxisSize {
    let (place, size) = text.split_once('=').expect("input:axis=size");
    let (input, axis) = place.split_once(':').expect("input:axis");
    let (axis, size) = (axis.parse().expect("an axis"), size.parse().expect("a size"));
    AxisSize { input: input.to_owned(), axis, size }
}

fn outcome(sections: &Sections) -> Outcome {
    static HOST: LazyLock<Host> =
        LazyLock::new(|| Host::new(&[&onnxport_aten::ROOT]).expect("the plugin attaches"));
    let mut program = Program::parse(sections.get("input").expect("an input section")).expect("a program");
    let (mut given, mut examples) = (Vec::new(), Vec::new());
    for line in sections.get("options").unwrap_or_default().lines() {
        match line.split_once(' ') {
            Some(("dim", text)) => given.push(size(text)),
            Some(("example", text)) => examples.push(size(text)),
            _ => panic!("unknown option `{line}`"),
        }
    }
    let before = program.symbols.clone();
    if let Err(report) = sizes::fix(&mut program, &HOST.schemas, &given) {
        return ("error", errors(&report));
    }
    let example = |input: &str, axis: usize| {
        examples.iter().find(|size| size.input == input && size.axis == axis).map(|size| size.size)
    };
    let found = sizes::traced(&program, &before, &example);
    let fixed = found.and_then(|found| sizes::fix(&mut program, &HOST.schemas, &found).map(|_| found));
    let found = match fixed {
        Ok(found) => found,
        Err(report) => return ("error", errors(&report)),
    };
    let mut out = String::new();
    for size in &found {
        writeln!(out, "{size}").expect("a String");
    }
    for line in program.to_text().lines().filter(|line| line.contains(" input ")) {
        writeln!(out, "{}", line.trim()).expect("a String");
    }
    ("output", out)
}

file_tests!("frozen", outcome);
