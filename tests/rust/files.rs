//! File tests: text files of sections, each opened by a line `--- name`. The last section is the expected output;
//! `UPDATE=1` rewrites it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use onnxport_core::diagnose::Report;
use onnxport_harness::Case;

/// Defines a test for each file of a folder of `tests/files`: `file_tests!("lower", outcome)` runs `outcome` on the
/// sections of each. The tests are named after the folder, unless another name precedes it.
macro_rules! file_tests {
    ($folder:literal, $outcome:expr) => {
        file_tests!($folder, $folder, $outcome);
    };
    ($name:literal, $folder:literal, $outcome:expr) => {
        ::onnxport_harness::inventory::submit! {
            ::onnxport_harness::Cases(|| $crate::files::cases($name, $folder, $outcome))
        }
    };
}

/// The sections of a file, in order.
pub(crate) struct Sections(Vec<(String, String)>);

impl Sections {
    /// Splits `text` at the lines that open sections; text before the first is a comment.
    pub(crate) fn from_text(text: &str) -> Self {
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
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, body)| body.as_str())
    }
}

/// Holds the table under `head` on a page against `rows`; `UPDATE=1` writes them.
pub(crate) fn table(page: &str, head: &str, rows: &str) {
    let path = repository().join(page);
    let text = std::fs::read_to_string(&path).expect("the page");
    let (before, rest) = text.split_once(head).expect("the table");
    let after =
        if rest.starts_with('\n') { rest } else { rest.find("\n\n").map_or("", |end| &rest[end + 1..]) };
    let current = format!("{before}{head}{rows}{after}");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &current).expect("a writable page");
    }
    let text = std::fs::read_to_string(&path).expect("the page");
    assert!(text == current, "{page} is not current: UPDATE=1 writes it");
}

/// The folder of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder or the file at `path` of `tests/files`.
pub(crate) fn at(path: &str) -> PathBuf {
    repository().join("tests/files").join(path)
}

/// The schemas of the op set in `plugins`.
pub(crate) fn schemas(set: &str) -> String {
    std::fs::read_to_string(repository().join("plugins").join(set).join("schemas.txt")).expect("the schemas")
}

/// The problems of a report, a line each.
pub(crate) fn errors(report: &Report) -> String {
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

/// The expected outcome of a file: the name and the text of its last section.
pub(crate) type Outcome = (&'static str, String);

/// A test for each file of `folder`, a folder of `tests/files`, called `name::stem`.
///
/// # Panics
/// If the folder cannot be read or holds no tests.
pub(crate) fn cases(name: &str, folder: &str, outcome: fn(&Sections) -> Outcome) -> Vec<Case> {
    let entries = std::fs::read_dir(at(folder)).expect("the folder of file tests");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "txt")).collect();
    assert!(!paths.is_empty(), "`{folder}` holds no tests");
    let case = |path: PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        Case { name: format!("{name}::{stem}"), run: Box::new(move || run(&path, outcome)) }
    };
    paths.into_iter().map(case).collect()
}

/// Compares the outcome of the file at `path` with its last section; `UPDATE=1` writes it there.
fn run(path: &Path, outcome: fn(&Sections) -> Outcome) {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let sections = Sections::from_text(&text);
    let (kind, actual) = outcome(&sections);
    let expected = sections.get(kind).unwrap_or_default();
    if expected == actual {
        return;
    }
    let updates = std::env::var_os("UPDATE").is_some();
    assert!(updates, "{kind}:\n{}UPDATE=1 rewrites what the file says", difference(expected, &actual));
    let head = ["\n--- output", "\n--- error"].iter().filter_map(|m| text.find(m)).min();
    let head = head.map_or(text.trim_end(), |end| &text[..end]);
    std::fs::write(path, format!("{head}\n--- {kind}\n{actual}")).expect("a writable file");
}

/// The lines between the common head and the common tail of both texts.
pub(crate) fn difference(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (expected.lines().collect(), actual.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    old[start..old.len() - rest].iter().for_each(|line| _ = writeln!(text, "- {line}"));
    new[start..new.len() - rest].iter().for_each(|line| _ = writeln!(text, "+ {line}"));
    text
}
