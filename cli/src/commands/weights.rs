//! `onnxport weights`.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use onnxport_core::diagnose::Report;
use onnxport_core::weights::{self, BindOptions};
use onnxport_core::write::WriteOptions;
use onnxport_requests::weights::WeightNames;
use onnxport_requests::writing::Places;

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
    Bind(BindArguments),
}

#[derive(Debug, Args)]
struct BindArguments {
    /// A model written by `onnxport convert --weightless`
    model: PathBuf,
    /// A weight file or a folder of shards: .safetensors, an index of shards, a torch.save checkpoint, a .pt2; can be
    /// repeated
    #[arg(long = "from", value_name = "PATH", required = true)]
    from: Vec<PathBuf>,
    /// The model to write; by default, the input model is overwritten
    #[arg(short, long, value_name = "ONNX")]
    output: Option<PathBuf>,
    #[command(flatten)]
    names: WeightNames,
    #[command(flatten)]
    places: Places,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    match &arguments.command {
        Command::Bind(arguments) => bind(arguments, progress),
    }
}

fn bind(arguments: &BindArguments, progress: &Progress) -> CommandResult {
    progress.stage("reading the weights");
    let (set, names) = arguments.names.open(&arguments.from)?;
    let output = arguments.output.as_ref().unwrap_or(&arguments.model);
    let bar = progress.bytes("writing");
    let options = WriteOptions {
        progress: Some(Arc::new(bar)),
        sources: arguments.names.files().collect(),
        ..arguments.places.options()
    };
    let binding = BindOptions { cast: arguments.names.cast, ..BindOptions::default() };
    let written = weights::bind_model(&arguments.model, &set, &names, binding, output, &options)?;
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
