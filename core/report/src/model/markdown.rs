//! A report as Markdown.

use std::fmt::Write;

use serde_json::Value;

use super::embedded;
use super::tables::{Table, facts, tables, text};

/// The marker before the data.
pub(super) const DATA: &str = "<!-- onnxport report: ";

/// The report as Markdown, with its data in a comment at its end.
pub fn markdown(data: &Value) -> String {
    let mut out = format!("# {}\n\n", cell(&text(&data["name"])));
    // Writing to a String cannot fail.
    for (name, value) in facts(data) {
        let _ = writeln!(out, "- {name}: {}", cell(&value));
    }
    for table in tables(data) {
        let _ = write!(out, "\n## {}\n\n", table.title);
        put(&mut out, &table);
    }
    let _ = write!(out, "\n{DATA}{} -->\n", embedded(data));
    out
}

fn put(out: &mut String, table: &Table) {
    let names: Vec<&str> = table.head.iter().map(|(name, _)| *name).collect();
    let lines: Vec<&str> =
        table.head.iter().map(|(_, number)| if *number { "---:" } else { "---" }).collect();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "| {} |\n| {} |", names.join(" | "), lines.join(" | "));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(|text| cell(text)).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

fn cell(text: &str) -> String {
    text.trim().replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace('\n', "<br>")
}
