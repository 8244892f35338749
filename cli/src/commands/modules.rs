//! The modules of a program, as text.

use std::fmt::Write;

use onnxport_core::bisect::modules::{Measure, Node, Pieces, Verdict};
use onnxport_core::diagnose::{Code, Diagnostic};

use crate::format::{bad, bold, count, faint, good, plain};
use crate::outcome::Outcome;

/// Describes the modules of a program.
pub(super) fn describe(found: &Pieces) -> Outcome {
    let mut outcome = Outcome::ok();
    let mut rows = Vec::new();
    rows_of(&found.root, 0, &mut rows);
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    // Writing to a String cannot fail.
    for row in &rows {
        let Row { name, verdict, more } = row;
        let _ = writeln!(text, "{name:width$}  {}{more}", painted(*verdict));
    }
    let conversions = count(usize::try_from(found.conversions).unwrap_or(usize::MAX), "conversion");
    let by = if found.python.is_empty() { String::new() } else { format!(" by {}", plain(&found.python)) };
    let _ = writeln!(text, "{}  {conversions}{by}", bold("compared"));
    outcome.text = text;
    outcome.put("modules", found);
    for node in found.found() {
        outcome.fail(diagnostic(node));
    }
    outcome
}

/// A row of the tree: a module, its verdict, and remarks.
struct Row {
    name: String,
    verdict: Verdict,
    more: String,
}

fn rows_of(node: &Node, depth: usize, rows: &mut Vec<Row>) {
    let indent = "  ".repeat(depth);
    let name = format!("{indent}{} ({})", name(node), plain(&node.kind));
    let mut more = String::new();
    for part in said(node) {
        more.push_str("; ");
        more.push_str(&part);
    }
    rows.push(Row { name, verdict: node.verdict, more });
    let mut others = 0_usize;
    let before = rows.len();
    for child in &node.children {
        if child.is_seen() {
            rows_of(child, depth + 1, rows);
        } else {
            others += 1;
        }
    }
    if others > 0 && rows.len() > before {
        let name = format!("{indent}  {others} more");
        rows.push(Row { name, verdict: Verdict::Unseen, more: String::new() });
    }
}

fn name(node: &Node) -> String {
    if node.path.is_empty() { "(the model)".to_owned() } else { plain(&node.path) }
}

/// Returns the remarks on a module besides its verdict.
fn said(node: &Node) -> Vec<String> {
    let mut parts = Vec::new();
    if let (Some(abs), Some(rel)) = (&node.max_abs_diff, &node.max_rel_diff) {
        parts.push(format!("absolute error up to {}, relative {}", number(abs), number(rel)));
    }
    parts.extend(node.reason.as_deref().map(plain));
    parts.extend(node.like.as_deref().map(|path| format!("as `{}`", plain(path))));
    parts.extend(node.begins.then(|| bad("starts here")));
    parts
}

fn number(measure: &Measure) -> String {
    match measure {
        Measure::Number(value) => format!("{value:.2e}"),
        Measure::Text(text) => plain(text),
    }
}

fn painted(verdict: Verdict) -> String {
    match verdict {
        Verdict::Agrees => good(verdict.text()),
        Verdict::Uncalled | Verdict::Unseen => faint(verdict.text()),
        _ => bad(verdict.text()),
    }
}

fn diagnostic(node: &Node) -> Diagnostic {
    let message = format!("`{}` ({}) {}", name(node), plain(&node.kind), node.verdict.text());
    let mut diagnostic = Diagnostic::error(Code::VERIFY_MODULE, message);
    if let (Some(abs), Some(rel)) = (&node.max_abs_diff, &node.max_rel_diff) {
        let (abs, rel) = (number(abs), number(rel));
        diagnostic = diagnostic.note(format!("absolute error up to {abs}, relative {rel}"));
    }
    if let (true, Some(reason)) = (node.diagnostics.is_empty(), &node.reason) {
        diagnostic = diagnostic.note(plain(reason));
    }
    for said in node.diagnostics.iter().filter(|said| said.severity == "error") {
        diagnostic = diagnostic.note(format!("{}: {}", plain(&said.code), plain(&said.message)));
    }
    match node.verdict {
        Verdict::Disagrees => diagnostic.help(
            "`onnxport bisect MODEL --against PROGRAM` names the node, where the program was saved with \
             intermediate values",
        ),
        _ => diagnostic,
    }
}
