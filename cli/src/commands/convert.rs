//! `onnxport convert`.

use clap::Args;
use onnxport_core::Trace;
use onnxport_core::diagnose::Report;
use onnxport_requests::convert::{ConvertRequest, Done};
use onnxport_requests::export::{Export, Unwritten};
use onnxport_requests::profiling::Profiling;
use onnxport_requests::writing::Planned;
use onnxport_requests::{Hosted, Request};
use schemars::JsonSchema;
use serde::Deserialize;

use super::exporting;
use super::profiled;
use super::reports::ReportArguments;
use super::writing;
use crate::backends;
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Arguments of `convert`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    #[command(flatten)]
    #[serde(flatten)]
    hosted: Hosted<ConvertRequest>,
    #[command(flatten)]
    #[serde(flatten)]
    reports: ReportArguments,
}

/// Converts, writes, verifies and reports.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    let Arguments { hosted: Hosted { request, .. }, reports } = arguments;
    reports.check()?;
    request.check()?;
    // Reports include the memory of each stage, which a trace measures.
    let profile = &request.export.profiling;
    let trace = profile.trace().or_else(|| reports.are_asked().then(Trace::new));
    let work = || convert(&arguments.hosted, progress);
    let mut result = profiled::around_in(profile, trace.as_ref(), "convert", &request.files(), work);
    let (Ok(outcome) | Err(outcome)) = &mut result;
    let model = request.output.as_deref().filter(|_| outcome.json.contains_key("files"));
    reports.write_model("convert", &request.program, model, outcome)?;
    result
}

fn convert(arguments: &Hosted<ConvertRequest>, progress: &Progress) -> CommandResult {
    let Hosted { request, plugins } = arguments;
    let export = Export { profiling: Profiling::default(), ..request.export.clone() };
    let request = ConvertRequest { export, ..request.clone() };
    let host = plugins::host(plugins)?;
    if request.verifies() {
        plugins::prepare(&host, &request.export.converting.verifying.running);
    }
    let converted = request.run(&host, &mut progress.clone())?;
    let mut outcome = describe(&request, converted.done);
    for failure in converted.failures {
        outcome.fail(failure);
    }
    Ok(outcome)
}

fn describe(request: &ConvertRequest, done: Done) -> Outcome {
    let export = &request.export;
    match done {
        Done::Text(text) => Outcome::text(text),
        Done::Partitioned(converted) => {
            let partitioned = converted.partitioned.unwrap_or_default();
            let origins = converted.model.origins;
            backends::explain(&partitioned, Report { diagnostics: converted.diagnostics, origins })
        }
        Done::Planned(planned) => {
            let (unwritten, plan) = &*planned;
            let options = Unwritten::write_options(export, &export.writing);
            let shown = export.writing.planning.plan.unwrap_or(Planned::Files);
            writing::planned(plan, &options, shown, unwritten.report())
        }
        Done::Refused(unwritten) => exporting::describe(&unwritten, export),
        Done::Saved(saved) => {
            let (unwritten, saved) = *saved;
            let path = request.output.as_deref().unwrap_or(&request.program);
            exporting::saved(&unwritten, saved, path, export)
        }
    }
}
