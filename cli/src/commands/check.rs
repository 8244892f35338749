//! `onnxport check`.

use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::decompose::DecomposeOptions;
use onnxport_core::diagnose::Report;
use onnxport_core::host::Host;
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::optimise::Level;
use onnxport_core::pipeline;
use onnxport_core::trace::stage;
use onnxport_requests::profile::Profiling;
use onnxport_requests::{Plugins, optimizing};

use super::profiled;
use super::reports::ReportArguments;
use super::suggesting::{self, Wanted};
use crate::decomposing::DecomposeArguments;
use crate::exit::Exit;
use crate::format::{count, good};
use crate::levels::LevelArguments;
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The exported program
    program: PathBuf,
    /// The opset to check for
    #[arg(long, default_value_t = DEFAULT_OPSET)]
    opset: i64,
    /// Print code to paste: lowerings for missing operators, replacements for modules
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    suggest: Option<Wanted>,
    #[command(flatten)]
    reports: ReportArguments,
    #[command(flatten)]
    decomposing: DecomposeArguments,
    #[command(flatten)]
    levels: LevelArguments,
    #[command(flatten)]
    profile: Profiling,
    #[command(flatten)]
    plugins: Plugins,
}

/// Finds and reports everything that cannot be converted.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    arguments.reports.check()?;
    arguments.levels.check()?;
    let sources = std::slice::from_ref(&arguments.program);
    let mut result = profiled::around(&arguments.profile, "check", sources, || check(arguments));
    let (Ok(outcome) | Err(outcome)) = &mut result;
    arguments.levels.judge(outcome);
    if let Some(wanted) = arguments.suggest {
        outcome.text.push_str(&suggesting::text(&outcome.report, wanted));
    }
    arguments.reports.write_model("check", &arguments.program, None, outcome)?;
    result
}

fn check(arguments: &Arguments) -> CommandResult {
    let host = plugins::host(&arguments.plugins)?;
    look(&host, &arguments.program, arguments.opset, arguments.decomposing.options()?)
}

/// Finds the obstacles to a conversion of the program at `path`.
pub(crate) fn look(host: &Host, path: &Path, opset: i64, decompose: DecomposeOptions) -> CommandResult {
    let reading = stage("read");
    let archive = pipeline::read(path)?;
    drop(reading);
    let calls = archive.program.body.calls.len();
    let mut options = pipeline::ConvertOptions {
        decompose,
        validate: true,
        optimise: optimizing::at(Level::default()),
        ..Default::default()
    };
    options.lower.opset = opset;
    let mut outcome = Outcome::ok().with("opset", opset).with("calls", calls);
    match pipeline::check(host, archive.program, &options) {
        Ok(converted) => {
            outcome.report = Report { diagnostics: converted.diagnostics, origins: converted.model.origins };
            outcome.summary =
                format!("{}  all of {} at opset {}\n", good("convertible"), count(calls, "call"), opset);
        }
        Err(report) => {
            outcome.exit = Exit::of(&report);
            outcome.report = report;
        }
    }
    outcome.put("gaps", outcome.report.diagnostics.len());
    Ok(outcome)
}
