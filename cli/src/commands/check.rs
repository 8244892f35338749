//! `onnxport check`.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::diagnose::Report;
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::optimise::Level;
use onnxport_core::pipeline;

use super::optimising;
use crate::decomposing::DecomposeArguments;
use crate::exit::Exit;
use crate::format::{count, good};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins::{self, PluginArguments};

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The exported program
    program: PathBuf,
    /// The opset to check for
    #[arg(long, default_value_t = DEFAULT_OPSET)]
    opset: i64,
    #[command(flatten)]
    decomposing: DecomposeArguments,
    #[command(flatten)]
    plugins: PluginArguments,
}

/// Finds everything that cannot be converted.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let archive = pipeline::read(&arguments.program)?;
    let host = plugins::host(&arguments.plugins)?;
    let calls = archive.program.body.calls.len();
    let mut options = pipeline::ConvertOptions {
        validate: true,
        optimise: optimising::at(Level::default()),
        ..Default::default()
    };
    options.lower.opset = arguments.opset;
    options.decompose = arguments.decomposing.options()?;
    let mut outcome = Outcome::ok().with("opset", arguments.opset).with("calls", calls);
    match pipeline::check(&host, archive.program, &options) {
        Ok(converted) => {
            outcome.report = Report { diagnostics: converted.diagnostics, origins: converted.model.origins };
            outcome.summary = format!(
                "{}  all of {} at opset {}\n",
                good("convertible"),
                count(calls, "call"),
                arguments.opset
            );
        }
        Err(report) => {
            outcome.exit = Exit::of(&report);
            outcome.report = report;
        }
    }
    outcome.put("gaps", outcome.report.diagnostics.len());
    Ok(outcome)
}
