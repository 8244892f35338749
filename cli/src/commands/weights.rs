//! `onnxport weights`.

use std::fmt::Write;

use clap::{Args, Subcommand};
use onnxport_core::diagnose::Report;
use onnxport_requests::BindRequest;

use crate::format::{bold, bytes, count};
use crate::outcome::{CommandResult, Outcome};
use crate::progress::Progress;

/// Arguments of `weights`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Bind weights to a model that was written without them
    Bind(BindRequest),
}

impl From<BindRequest> for Arguments {
    fn from(request: BindRequest) -> Self {
        Self { command: Command::Bind(request) }
    }
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    match &arguments.command {
        Command::Bind(request) => bind(request, progress),
    }
}

fn bind(request: &BindRequest, progress: &Progress) -> CommandResult {
    let written = request.bind(&mut progress.clone())?;
    let mut outcome = Outcome::ok();
    let mut files = format!("{} ({})", written.model.display(), bytes(written.model_bytes));
    // Writing to a String cannot fail.
    if !written.data.is_empty() {
        let _ = write!(files, ", {} ({})", count(written.data.len(), "data file"), bytes(written.data_bytes));
    }
    if !written.sources.is_empty() {
        let _ = write!(files, ", {} read in place", bytes(written.source_bytes));
    }
    outcome.summary = format!("{}  {files}\n", bold("bound"));
    let paths = std::iter::once(&written.model).chain(&written.data).chain(&written.manifest);
    outcome.put("files", paths.map(|path| path.display().to_string()).collect::<Vec<_>>());
    outcome.put("initializers", written.tensors);
    outcome.put("sources", &written.sources);
    outcome.put("source_bytes", written.source_bytes);
    outcome.report = Report { diagnostics: written.diagnostics, ..Report::default() };
    Ok(outcome)
}
