//! `onnxport optimize`.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use onnxport_core::diagnose::Report;
use onnxport_core::optimise::{self, OptimiseOptions, Rewritten};
use onnxport_core::pipeline;
use onnxport_core::trace::stage;
use onnxport_core::write::{self, WriteOptions};

use super::holding::HoldingArguments;
use super::optimising::OptimiseArguments;
use super::profiled::ProfileArguments;
use super::verifying;
use super::writing::PlaceArguments;
use crate::exit::Exit;
use crate::format::{bold, bytes, count};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins::{self, PluginArguments};
use crate::progress::Progress;
use crate::target::{self, TargetArguments};

/// Arguments of `optimize`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The ONNX model
    model: PathBuf,
    /// The model to write
    #[arg(short, long, value_name = "ONNX", required_unless_present = "emit")]
    output: Option<PathBuf>,
    /// Print the text form of the graph instead of writing it
    #[arg(long, conflicts_with = "output")]
    emit: bool,
    #[command(flatten)]
    optimising: OptimiseArguments,
    #[command(flatten)]
    target: TargetArguments,
    #[command(flatten)]
    places: PlaceArguments,
    #[command(flatten)]
    holding: HoldingArguments,
    #[command(flatten)]
    profile: ProfileArguments,
    #[command(flatten)]
    plugins: PluginArguments,
}

/// Reads, checks, optimises and writes a model.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    let others: Vec<PathBuf> = std::iter::once(&arguments.model).chain(&arguments.output).cloned().collect();
    arguments.profile.around("optimize", &others, || optimize(arguments, progress))
}

fn optimize(arguments: &Arguments, progress: &Progress) -> CommandResult {
    progress.stage("reading the model");
    let reading = stage("read");
    let host = plugins::host(&arguments.plugins)?;
    arguments.holding.prepare(&host);
    let (model, warned) = pipeline::import_with_warnings(&arguments.model)?;
    drop(reading);
    progress.stage("optimising");
    let optimising = stage("optimise");
    // What a model points at stays as it lies.
    let options = OptimiseOptions { separate: arguments.places.refers(), ..arguments.optimising.options() };
    let target = arguments.target.options();
    let Rewritten { model, optimised, legalised, diagnostics } =
        optimise::imported(&host, model, &options, &target)?;
    let diagnostics = [warned, diagnostics].concat();
    drop(optimising);
    progress.go_on()?;
    let Some(output) = arguments.output.as_ref().filter(|_| !arguments.emit) else {
        let mut outcome = Outcome::text(model.to_text());
        outcome.report = Report { diagnostics, origins: model.origins };
        return Ok(outcome);
    };
    let options = WriteOptions {
        progress: Some(Arc::new(progress.bytes("writing"))),
        sources: vec![arguments.model.clone()],
        // A model that waits for weights goes on waiting for them.
        weightless: true,
        ..arguments.places.options()
    };
    let writing = stage("write");
    let mut staged = write::stage(&model, output, &options)?;
    drop(writing);
    let mut held = Outcome::ok();
    if arguments.holding.verify {
        let _stage = stage("verify");
        let readable = staged.readable()?;
        held = arguments.holding.hold(&host, &arguments.model, readable.path(), progress)?;
    }
    progress.go_on()?;
    let _publishing = stage("write");
    let written = match held.exit {
        Exit::Ok => staged.publish()?,
        _ if arguments.holding.keep_failed => staged.publish_failed()?,
        _ => {
            held.report.diagnostics.push(verifying::withheld(output, None));
            return Ok(held);
        }
    };
    let mut outcome = Outcome::ok();
    outcome.summary =
        format!("{}  {} ({})", bold("wrote"), written.model.display(), bytes(written.model_bytes));
    // Writing to a String cannot fail.
    if !written.data.is_empty() {
        let data = count(written.data.len(), "data file");
        let _ = write!(outcome.summary, ", {data} ({})", bytes(written.data_bytes));
    }
    if written.unbound > 0 {
        let _ = write!(outcome.summary, ", {} still to be given", count(written.unbound, "weight"));
    }
    outcome.summary.push('\n');
    let paths = std::iter::once(&written.model).chain(&written.data).chain(&written.manifest);
    outcome.put("files", paths.map(|path| path.display().to_string()).collect::<Vec<_>>());
    outcome.put("nodes", model.graph.node_count());
    outcome.put("initializers", written.tensors);
    outcome.put("unbound", written.unbound);
    arguments.optimising.describe(&optimised, "", &mut outcome);
    target::describe(&legalised, &mut outcome);
    let diagnostics = diagnostics.into_iter().chain(written.diagnostics).collect();
    outcome.report = Report { diagnostics, origins: model.origins };
    outcome.add(held);
    if outcome.exit != Exit::Ok {
        outcome.report.diagnostics.push(verifying::withheld(output, Some(&written.model)));
    }
    Ok(outcome)
}
