//! The plan of a write, as text.

use std::fmt::Write;

use onnxport_core::WriteOptions;
use onnxport_core::diagnose::Report;
use onnxport_core::inspect::WeightTable;
use onnxport_core::write::WritePlan;
use onnxport_requests::writing::Planned;

use crate::exit::Exit;
use crate::format::{bold, bytes, table};
use crate::outcome::Outcome;
use crate::tensors;

/// Shows a plan; a failure if the write would be refused. `report` holds further diagnostics.
pub(crate) fn planned(
    (plan, table): &(WritePlan, WeightTable),
    options: &WriteOptions,
    shown: Planned,
    report: Report,
) -> Outcome {
    let outcome = Outcome::text(text(plan, options)).with("plan", plan).with("weights", table);
    let mut outcome = Outcome { report, ..outcome };
    if shown == Planned::Tensors {
        outcome.text.push_str(&tensors::text(table, usize::MAX));
    }
    if let Err(report) = plan.check(options) {
        outcome.exit = Exit::of(&report);
        outcome.report.diagnostics.extend(report.diagnostics);
    }
    outcome
}

fn text(plan: &WritePlan, options: &WriteOptions) -> String {
    let rows: Vec<Vec<String>> = plan
        .files
        .iter()
        .map(|file| {
            let replaces = file.replaces.map(|old| format!("replaces {}", bytes(old)));
            vec![file.path.display().to_string(), bytes(file.bytes), replaces.unwrap_or_default()]
        })
        .collect();
    let mut out = format!("{}\n{}", bold("files"), table(&rows));
    let counts = plan.tensors;
    let mut others = String::new();
    for (n, what) in
        [(counts.pointed, "read in place"), (counts.unbound, "unbound"), (counts.left_out, "left out")]
    {
        if n > 0 {
            // Writing to a String cannot fail.
            let _ = write!(others, ", {n} {what}");
        }
    }
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "{}  {} stored ({}), {} tied, {} in the model ({}){others}; {} of padding",
        bold("tensors"),
        counts.stored,
        bytes(plan.stored_bytes),
        counts.tied,
        counts.inline,
        bytes(plan.inline_bytes),
        bytes(plan.padding_bytes)
    );
    let known = |size: Option<u64>| size.map_or_else(|| "unknown".to_owned(), bytes);
    let _ =
        writeln!(out, "{}  {} needed, {} free", bold("disk"), bytes(plan.disk_needed), known(plan.disk_free));
    let limit = options.max_memory.map(|limit| format!(", {} allowed", bytes(limit))).unwrap_or_default();
    let _ = writeln!(
        out,
        "{}  {} of anonymous memory at most while writing, {} of them to stream tensors{limit}",
        bold("memory"),
        known(plan.peak_memory),
        bytes(plan.stream_memory)
    );
    out
}
