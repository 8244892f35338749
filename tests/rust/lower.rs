//! File tests of the lowering: `tests/files/lower/*.txt`.
//!
//! Sections:
//! - `options` (optional): `opset 23`, `input-names a b`, `output-names old=new`, `dim x:0=batch`,
//!   `dim x:0=8`, a line each;
//! - `input`: a functional program in text form;
//! - `output`: the model in text form, tidied and valid, or `error`.

use std::sync::LazyLock;

use onnxport_core::host::Host;
use onnxport_core::lower::{DimName, LowerOptions, Names, OutputNames, lower};
use onnxport_core::program::Program;
use onnxport_core::sizes::{self, AxisSize};
use onnxport_core::tidy;
use onnxport_core::valid;

use crate::files::{Outcome, Sections, errors};

fn options(text: &str) -> (LowerOptions, Vec<AxisSize>) {
    let (mut options, mut sizes) = (LowerOptions::default(), Vec::new());
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("opset", n)) => options.opset = n.parse().expect("an opset"),
            Some(("input-names", list)) => options.input_names = names(list),
            Some(("output-names", list)) => options.output_names = names(list),
            Some(("dim", text)) => {
                let (place, name) = text.split_once('=').expect("input:axis=name");
                let (input, axis) = place.split_once(':').expect("input:axis");
                let axis = axis.parse().expect("an axis");
                if let Ok(size) = name.parse() {
                    sizes.push(AxisSize { input: input.to_owned(), axis, size });
                    continue;
                }
                options.dims.push(DimName { input: input.to_owned(), axis, name: name.to_owned() });
            }
            _ => panic!("unknown option `{line}`"),
        }
    }
    (options, sizes)
}

/// `a b`, or `old=new`.
fn names(text: &str) -> Names {
    let words = text.split_whitespace();
    if text.contains('=') {
        let pairs = words.map(|word| word.split_once('=').expect("old=new"));
        return Names::Renamed(pairs.map(|(old, new)| (old.to_owned(), new.to_owned())).collect());
    }
    Names::InOrder(words.map(str::to_owned).collect())
}

fn outcome(sections: &Sections) -> Outcome {
    static HOST: LazyLock<Host> = LazyLock::new(|| {
        Host::new(&[&onnxport_aten::ROOT, &onnxport_torchvision::ROOT]).expect("the plugins attach")
    });
    let mut program = Program::parse(sections.get("input").expect("an input section")).expect("a program");
    let (options, sizes) = options(sections.get("options").unwrap_or_default());
    let axes: Vec<_> = options.dims.iter().map(|dim| (&*dim.input, dim.axis, &*dim.name)).collect();
    let merged = sizes::merge(&mut program, &HOST.schemas, &axes);
    let fixed = merged.and_then(|()| sizes::fix(&mut program, &HOST.schemas, &sizes));
    let note = match fixed {
        Ok(note) => note,
        Err(report) => return ("error", errors(&report)),
    };
    assert_eq!(
        note.is_some(),
        sections.get("options").is_some_and(|text| text.contains("=1\n")),
        "a size of 1 is noted"
    );
    let names = OutputNames::of(&program);
    match lower(&HOST, program, &options, &names) {
        Ok(mut lowered) => {
            tidy::model(&mut lowered.model);
            let found = valid::validate(&lowered.model, &lowered.stated);
            assert!(found.is_empty(), "{found:?}");
            ("output", lowered.model.to_text())
        }
        Err(report) => ("error", errors(&report)),
    }
}

file_tests!("lower", outcome);
