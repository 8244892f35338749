//! Markdown, for job summaries and reviews.

use std::fmt::Write;

use super::group::groups;
use crate::diagnose::{Report, Severity};

/// The report as a Markdown table, one row per problem.
pub fn markdown(report: &Report) -> String {
    let mut out = String::from("| | Code | Problem | Count | First location |\n|---|---|---|---|---|\n");
    for group in groups(report) {
        let severity = match group.first.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let place =
            group.places.first().and_then(|o| o.user_frame()).map(|f| format!("{}:{}", f.file, f.line));
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "| {severity} | `{}` | {} | {} | {} |",
            group.first.code,
            cell(&group.first.message),
            group.count,
            cell(&place.unwrap_or_default())
        );
    }
    out
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
