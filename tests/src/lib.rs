//! File tests: text files of sections, each opened by a line `--- name`, of which the last is what
//! must come out. `UPDATE=1` rewrites it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use onnxport_core::diagnose::Report;

/// The sections of a file, in order.
pub struct Sections(Vec<(String, String)>);

impl Sections {
    /// Splits `text` at the lines that open sections; what stands before the first is a comment.
    pub fn of(text: &str) -> Self {
        let mut sections: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("--- ") {
                sections.push((name.trim().to_owned(), String::new()));
            } else if let Some((_, body)) = sections.last_mut() {
                body.push_str(line);
                body.push('\n');
            }
        }
        Self(sections)
    }

    /// The section called `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, body)| body.as_str())
    }
}

/// The folder of this crate.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The problems of a report, a line each.
pub fn errors(report: &Report) -> String {
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

/// Runs every file of `folder` (in this crate's folder) through `outcome`, which returns the name of
/// the last section and what must stand there.
///
/// # Panics
/// With a comparison, when something else comes out of a file; when a file cannot be read.
pub fn run_files(folder: &str, outcome: impl Fn(&Sections) -> (&'static str, String)) {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(root().join(folder))
        .expect("the folder of file tests")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "`{folder}` holds no tests");
    let update = std::env::var_os("UPDATE").is_some();
    let mut failures = String::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let sections = Sections::of(&text);
        let (kind, actual) = outcome(&sections);
        let expected = sections.get(kind).unwrap_or_default();
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

/// The lines between the common head and the common tail of both texts.
fn difference(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (expected.lines().collect(), actual.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    old[start..old.len() - rest].iter().for_each(|line| _ = writeln!(text, "- {line}"));
    new[start..new.len() - rest].iter().for_each(|line| _ = writeln!(text, "+ {line}"));
    text
}
