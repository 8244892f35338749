//! File tests of the lowering: `tests/files/lower/*.txt`.
//!
//! Sections:
//! - `options` (optional): `opset 23`, `input-names a b`, `output-names c`, `dim x:0=batch`, a line each;
//! - `input`: a functional program in text form;
//! - `output`: the model in text form, tidied and valid, or `error`.

use std::sync::LazyLock;

use onnxport_core::host::Host;
use onnxport_core::ir;
use onnxport_core::lower::{DimName, LowerOptions, lower, output_names};
use onnxport_core::program::Program;
use onnxport_core::valid;

use crate::files::{Outcome, Sections, errors};

fn options(text: &str) -> LowerOptions {
    let mut options = LowerOptions::default();
    let names = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("opset", n)) => options.opset = n.parse().expect("an opset"),
            Some(("input-names", list)) => options.input_names = names(list),
            Some(("output-names", list)) => options.output_names = names(list),
            Some(("dim", text)) => {
                let (place, name) = text.split_once('=').expect("input:axis=name");
                let (input, axis) = place.split_once(':').expect("input:axis");
                let axis = axis.parse().expect("an axis");
                options.dims.push(DimName { input: input.to_owned(), axis, name: name.to_owned() });
            }
            _ => panic!("unknown option `{line}`"),
        }
    }
    options
}

fn outcome(sections: &Sections) -> Outcome {
    static HOST: LazyLock<Host> = LazyLock::new(|| {
        Host::new(&[&onnxport_aten::ROOT, &onnxport_torchvision::ROOT]).expect("the plugins attach")
    });
    let program = Program::parse(sections.get("input").expect("an input section")).expect("a program");
    let options = options(sections.get("options").unwrap_or_default());
    let names = output_names(&program);
    match lower(&HOST, program, &options, &names) {
        Ok(mut lowered) => {
            ir::tidy::model(&mut lowered.model);
            let found = valid::validate(&lowered.model, &lowered.stated);
            assert!(found.is_empty(), "{found:?}");
            ("output", lowered.model.to_text())
        }
        Err(report) => ("error", errors(&report)),
    }
}

file_tests!("lower", outcome);
