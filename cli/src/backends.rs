//! The regions of backends, as text.

use std::fmt::Write;

use onnxport_core::backend::{Partitioned, RegionReport};
use onnxport_core::diagnose::Report;

use crate::format::{bold, bytes, count, faint, table};
use crate::outcome::Outcome;

/// Regions shown in the summary.
const REGIONS: usize = 12;

/// Shows which nodes backends would claim, and why they leave the others.
pub(crate) fn explain(partitioned: &Partitioned, report: Report) -> Outcome {
    let mut outcome = Outcome::text(text(partitioned, usize::MAX));
    outcome.put("backends", &partitioned.backends);
    outcome.put("nodes", partitioned.nodes);
    outcome.put("left", partitioned.left);
    outcome.report = report;
    outcome
}

/// The summary of a conversion.
pub(crate) fn summary(partitioned: &Partitioned) -> String {
    text(partitioned, REGIONS)
}

fn text(partitioned: &Partitioned, most: usize) -> String {
    let mut out = String::new();
    for backend in &partitioned.backends {
        let taken: usize = backend.regions.iter().map(|region| region.nodes).sum();
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{}  {}: {} of {} in {}",
            bold("backend"),
            backend.id,
            count(taken, "node"),
            partitioned.nodes,
            count(backend.regions.len(), "region")
        );
        let shown = backend.regions.len().min(most);
        let rows: Vec<Vec<String>> = backend.regions.iter().take(shown).map(row).collect();
        out.push_str(&table(&rows));
        if backend.regions.len() > shown {
            let _ = writeln!(out, "  {}", faint(&format!("... and {} more", backend.regions.len() - shown)));
        }
        let rows: Vec<Vec<String>> = backend
            .refusals
            .iter()
            .map(|refusal| {
                let example = if refusal.example.is_empty() {
                    String::new()
                } else {
                    faint(&format!("as in {}", refusal.example))
                };
                vec![format!("{} {}", refusal.count, refusal.op), refusal.reason.clone(), example]
            })
            .collect();
        if !rows.is_empty() {
            let _ = writeln!(out, "{}", bold("not taken"));
            out.push_str(&table(&rows));
        }
    }
    let _ =
        writeln!(out, "{}  {} of {}", bold("plain ONNX"), partitioned.left, count(partitioned.nodes, "node"));
    out
}

fn row(region: &RegionReport) -> Vec<String> {
    let mut ops: Vec<(&str, usize)> = region.ops.iter().map(|(op, count)| (op.as_str(), *count)).collect();
    ops.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let ops: Vec<String> = ops.into_iter().map(|(op, count)| format!("{count} {op}")).collect();
    let blob =
        if region.blob_bytes == 0 { String::new() } else { format!(", blob {}", bytes(region.blob_bytes)) };
    let cached = if region.cached { ", from the cache" } else { "" };
    vec![
        region.name.clone(),
        ops.join(", "),
        faint(&format!(
            "{} in, {} out, {} of weights{blob}{cached}",
            region.inputs,
            region.outputs,
            bytes(region.weight_bytes)
        )),
    ]
}
