//! The output of `onnxport convert`: the arguments about it, and `--plan`.

use std::fmt::Write;
use std::path::Path;

use clap::{Args, ValueEnum};
use onnxport_core::diagnose::Report;
use onnxport_core::inspect::WeightTable;
use onnxport_core::write::WritePlan;
use onnxport_core::{ConvertedProgram, WriteOptions};
use onnxport_requests::writing::Places;

use crate::exit::Exit;
use crate::format::{bold, bytes, table};
use crate::outcome::{CommandResult, Outcome};
use crate::tensors;

/// Arguments about the output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing")]
pub(crate) struct WriteArguments {
    #[command(flatten)]
    places: Places,
    /// Omit the data of the program's parameters, buffers and constants
    #[arg(long)]
    pub no_initializers: bool,
    /// Declare the program's parameters, buffers and constants as inputs after the others
    #[arg(long)]
    initializers_as_inputs: bool,
    #[command(flatten)]
    planning: PlanArguments,
}

/// The argument that requests a plan.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing")]
pub(crate) struct PlanArguments {
    /// Print the files, disk space and memory that writing would take, without writing. With =tensors, also list the
    /// source, transforms and destination of every tensor
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "files")]
    pub plan: Option<Planned>,
}

/// The level of detail of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Planned {
    /// The files and their sizes
    Files,
    /// Also every tensor
    Tensors,
}

impl WriteArguments {
    /// Returns the plan to show instead of writing, if any.
    pub(crate) fn plan(&self) -> Option<Planned> {
        self.planning.plan
    }

    /// Whether the user of the model supplies its weights by name.
    pub(crate) fn names_weights(&self) -> bool {
        self.no_initializers || self.initializers_as_inputs
    }

    /// Whether the model refers to its weights in existing files.
    pub(crate) fn refers(&self) -> bool {
        self.places.refers()
    }

    /// Returns the options for writing a model.
    pub(crate) fn options(&self) -> WriteOptions {
        WriteOptions {
            initializers: !self.no_initializers,
            initializers_as_inputs: self.initializers_as_inputs,
            ..self.places.options()
        }
    }
}

/// Shows the plan of a write to `path`; a failure if the write would be refused.
pub(crate) fn plan(
    program: &ConvertedProgram,
    path: &Path,
    options: &WriteOptions,
    shown: Planned,
) -> CommandResult {
    let plan = program.plan(path, options)?;
    let diagnostics = program.converted.diagnostics.clone();
    let origins = program.converted.model.origins.clone();
    Ok(planned(&plan, options, shown, Report { diagnostics, origins }))
}

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
