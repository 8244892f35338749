//! The lowerings of a call of every overload: `tests/files/overloads`, a file for each family of
//! `tests/python/ops`, whose programs `python -m tests.python.ops.programs` dumps once. The programs of `numbers.txt` and
//! `by_hand.txt` are written by hand: PyTorch does not export them here, or refuses to save them.
//!
//! A case begins with a line `=== name`; its sections are those of a file test:
//! - `options` (optional): `--opset 18`;
//! - `program`: as it was exported, in text form;
//! - `model` or `error`: the result of the conversion without rules; `UPDATE=1` writes it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use onnxport_core::host::Host;
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::normalise;
use onnxport_core::optimise::{Level, OptimiseOptions};
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::program::{Arg, Body, Program};
use onnxport_harness::{Case, Cases, inventory};

use crate::files::{self, Outcome, Sections, difference, errors};

pub(crate) static HOST: LazyLock<Host> = LazyLock::new(|| {
    Host::new(&[&onnxport_aten::ROOT, &onnxport_torchvision::ROOT, &onnxport_torchaudio::ROOT])
        .expect("the plugins attach")
});

/// The files of the families.
pub(crate) fn families() -> Vec<PathBuf> {
    let entries = fs::read_dir(files::at("overloads")).expect("the folder of families");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// The cases of a family, each with its name.
pub(crate) fn split(text: &str) -> Vec<(&str, &str)> {
    let cases = text.split("=== ").filter(|case| !case.is_empty());
    cases.map(|case| (case.lines().next().unwrap_or_default(), case)).collect()
}

/// The program of a case.
pub(crate) fn program(sections: &Sections) -> Program {
    let text = sections.get("program").expect("a section `program`");
    Program::parse(text).unwrap_or_else(|error| panic!("program:{error}"))
}

fn outcome(sections: &Sections) -> Outcome {
    let mut options = ConvertOptions {
        validate: true,
        weightless: true,
        optimise: OptimiseOptions { level: Level::Nothing, ..OptimiseOptions::default() },
        ..ConvertOptions::default()
    };
    options.lower.opset = DEFAULT_OPSET;
    let words: Vec<&str> = sections.get("options").unwrap_or_default().split_whitespace().collect();
    match words[..] {
        [] => {}
        ["--opset", opset] => options.lower.opset = opset.parse().expect("a number"),
        _ => panic!("there are no options {words:?}"),
    }
    match pipeline::convert(&HOST, program(sections), &options) {
        Ok(converted) => ("model", converted.model.to_text()),
        Err(report) => ("error", errors(&report)),
    }
}

/// Returns the part of a case before its expectation.
fn head(case: &str) -> &str {
    let end = ["\n--- model\n", "\n--- error\n"].iter().filter_map(|mark| case.find(mark)).min();
    end.map_or(case, |end| &case[..=end])
}

/// Compares the outcome of a case with its file; `UPDATE=1` writes it there.
fn run(path: &Path, name: &str, case: &str) {
    /// Cases share a file.
    static WRITING: Mutex<()> = Mutex::new(());
    let sections = Sections::from_text(case);
    let (kind, actual) = outcome(&sections);
    let expected = sections.get(kind).unwrap_or_default();
    if expected == actual {
        return;
    }
    let updates = std::env::var_os("UPDATE").is_some();
    assert!(updates, "{kind}:\n{}UPDATE=1 rewrites what the file says", difference(expected, &actual));
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let text = fs::read_to_string(path).expect("a readable file");
    let mut updated = String::new();
    for (other, case) in split(&text) {
        if other == name {
            let _ = write!(updated, "=== {}--- {kind}\n{actual}", head(case));
        } else {
            let _ = write!(updated, "=== {case}");
        }
    }
    fs::write(path, updated).expect("a writable file");
}

inventory::submit! {
    Cases(|| {
        let family = |path: PathBuf| {
            let family = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).expect("a readable file");
            let case = |(name, case): (&str, &str)| {
                let (path, name, case) = (path.clone(), name.to_owned(), case.to_owned());
                Case { name: format!("overloads::{family}::{name}"), run: Box::new(move || run(&path, &name, &case)) }
            };
            split(&text).into_iter().map(case).collect::<Vec<_>>()
        };
        families().into_iter().flat_map(family).collect()
    })
}

/// Adds the calls of a body, at every depth.
fn calls(body: &Body, found: &mut BTreeSet<String>) {
    for call in &body.calls {
        found.insert(call.target.to_string());
        for arg in &call.args {
            if let Arg::Graph(graph) = &arg.arg {
                calls(&graph.body, found);
            }
        }
    }
}

#[test]
fn every_overload_has_a_program() {
    let mut called = BTreeSet::new();
    for path in families() {
        let text = fs::read_to_string(&path).expect("a readable file");
        for (_, case) in split(&text) {
            let program = program(&Sections::from_text(case));
            calls(&program.body, &mut called);
            // Normalization adds calls that few programs contain.
            if let Ok(program) = normalise::normalise(program, &HOST.schemas) {
                calls(&program.body, &mut called);
            }
        }
    }
    let lowered: BTreeSet<String> = HOST.registry.iter().map(|(target, _)| target.to_owned()).collect();
    let lacking: Vec<&str> = lowered.difference(&called).map(String::as_str).collect();
    let list = lacking.join("\n");
    assert!(lacking.is_empty(), "overloads without a program; add a case in tests/python/ops:\n{list}");
}
