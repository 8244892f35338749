//! File tests of the normaliser: `tests/normalise/*.txt`.
//!
//! A file holds sections, each opened by a line `--- name`:
//! - `steps` (optional): the steps to run, by name; all when absent;
//! - `schemas` (optional): schemas of custom operators;
//! - `input`: a program in text form;
//! - `output` or `error`: what comes out. `UPDATE=1` rewrites it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use onnxport_core::diagnose::Report;
use onnxport_core::normalise::run_steps;
use onnxport_core::program::Program;
use onnxport_core::registry::Schemas;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The sections of a file, in order.
fn sections(text: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("--- ") {
            sections.push((name.trim().to_owned(), String::new()));
        } else if let Some((_, body)) = sections.last_mut() {
            body.push_str(line);
            body.push('\n');
        }
    }
    sections
}

fn section<'a>(sections: &'a [(String, String)], name: &str) -> Option<&'a str> {
    sections.iter().find(|(n, _)| n == name).map(|(_, body)| body.as_str())
}

fn errors(report: &Report) -> String {
    let mut text = String::new();
    for diagnostic in &report.diagnostics {
        let _ = write!(text, "{}: {}", diagnostic.code, diagnostic.message);
        if let Some(origin) = diagnostic.origin {
            let _ = write!(text, " [{}]", report.origins.get(origin).target);
        }
        text.push('\n');
    }
    text
}

/// What comes out of a file, as the name of its section and its text.
fn outcome(sections: &[(String, String)], schemas: &str) -> (&'static str, String) {
    let input = section(sections, "input").expect("an input section");
    let program = match Program::parse(input) {
        Ok(program) => program,
        Err(error) => return ("error", format!("input:{error}\n")),
    };
    let steps: Option<Vec<&str>> = section(sections, "steps").map(|s| s.split_whitespace().collect());
    let custom = section(sections, "schemas").unwrap_or_default();
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

/// Lines of both texts, marked where they differ.
fn difference(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (expected.lines().collect(), actual.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    old[start..old.len() - rest].iter().for_each(|line| _ = writeln!(text, "- {line}"));
    new[start..new.len() - rest].iter().for_each(|line| _ = writeln!(text, "+ {line}"));
    text
}

#[test]
fn files() {
    let schemas = std::fs::read_to_string(root().join("../plugins/aten/schemas.txt")).expect("the schemas");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(root().join("normalise"))
        .expect("the folder of file tests")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let update = std::env::var_os("UPDATE").is_some();
    let mut failures = String::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let sections = sections(&text);
        let (kind, actual) = outcome(&sections, &schemas);
        let expected = section(&sections, kind).unwrap_or_default();
        if expected == actual {
            continue;
        }
        if update {
            let head = ["\n--- output", "\n--- error"].iter().filter_map(|m| text.find(m)).min();
            let head = head.map_or(text.trim_end(), |end| &text[..end]);
            std::fs::write(&path, format!("{head}\n--- {kind}\n{actual}")).expect("a writable file");
        } else {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let _ = writeln!(failures, "{name}: {kind}\n{}", difference(expected, &actual));
        }
    }
    assert!(failures.is_empty(), "\n{failures}UPDATE=1 rewrites the expectations");
}
