//! Formats suggested code as a valid source file of its language, except for fragments that were requested directly.

use std::fmt::Write as _;

use clap::ValueEnum;
use onnxport_core::diagnose::{Report, Subject, Suggestion};

/// Which suggestions are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wanted {
    /// All of them
    All,
    /// Lowerings in Python, as a file
    Python,
    /// Lowerings in Rust, as a file of a plugin
    Rust,
    /// Modules that replace others
    Modules,
}

impl Wanted {
    fn takes(self, subject: Subject) -> bool {
        match self {
            Self::All => true,
            Self::Python => subject == Subject::Lowering,
            Self::Rust => subject == Subject::Plugin,
            Self::Modules => subject == Subject::Module,
        }
    }
}

/// Returns the suggestions of a report, each once, below a comment that describes it.
pub(crate) fn text(report: &Report, wanted: Wanted) -> String {
    let mut shown: Vec<&Suggestion> = Vec::new();
    let mut out = String::new();
    let all = report.diagnostics.iter().flat_map(|found| &found.suggestions);
    for suggestion in all.filter(|one| wanted.takes(one.subject)) {
        if shown.contains(&suggestion) {
            continue;
        }
        shown.push(suggestion);
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{} {}\n{}", suggestion.subject.comment(), suggestion.title, suggestion.text);
    }
    out
}
