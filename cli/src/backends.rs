//! The backends to run on a model, and the report of their regions.

use std::fmt::Write;
use std::path::Path;

use clap::{Args, ValueEnum};
use onnxport_core::backend::{BackendOptions, Blobs, Partitioned, RegionReport};
use onnxport_core::diagnose::Report;
use onnxport_core::host::Host;
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::program::Program;

use crate::format::{bold, bytes, count, faint, table};
use crate::outcome::{CommandResult, Outcome};

/// Regions shown in the summary.
const REGIONS: usize = 12;

/// Arguments about backends.
#[derive(Debug, Args)]
#[command(next_help_heading = "Backends")]
pub(crate) struct BackendArguments {
    /// A backend to compile the parts of the model that it supports, or a plugin for all of its backends; can be
    /// repeated, in order of preference
    #[arg(long = "backend", value_name = "ID")]
    backends: Vec<String>,
    /// Where to store the blobs that backends compile
    #[arg(long, value_enum, default_value_t = Place::Auto, value_name = "WHERE", requires = "backends")]
    blobs: Place,
}

/// Where blobs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Place {
    /// In the model up to 1 MiB each, otherwise in files beside it
    Auto,
    /// In the model
    Embed,
    /// Into files beside it
    File,
}

impl BackendArguments {
    /// Returns the options for a model to be written to `output`.
    pub(crate) fn options(&self, output: Option<&Path>) -> BackendOptions {
        let name = output.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        BackendOptions {
            backends: self.backends.clone(),
            blobs: match self.blobs {
                Place::Auto => Blobs::Auto,
                Place::Embed => Blobs::Embed,
                Place::File => Blobs::File,
            },
            stem: name.unwrap_or_else(|| "model.onnx".to_owned()),
            dry_run: false,
        }
    }
}

/// Shows which nodes backends would claim, and why they leave the others.
pub(crate) fn explain(host: &Host, program: Program, options: &ConvertOptions) -> CommandResult {
    let converted = pipeline::convert(host, program, options)?;
    let partitioned = converted.partitioned.unwrap_or_default();
    let mut outcome = Outcome::text(text(&partitioned, usize::MAX));
    outcome.put("backends", &partitioned.backends);
    outcome.put("nodes", partitioned.nodes);
    outcome.put("left", partitioned.left);
    outcome.report = Report { diagnostics: converted.diagnostics, origins: converted.model.origins };
    Ok(outcome)
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
    vec![
        region.name.clone(),
        ops.join(", "),
        faint(&format!(
            "{} in, {} out, {} of weights{blob}",
            region.inputs,
            region.outputs,
            bytes(region.weight_bytes)
        )),
    ]
}
