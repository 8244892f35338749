//! `onnxport verify`.

use std::path::PathBuf;

use clap::Args;
use onnxport_requests::Hosted;
use onnxport_requests::profiling::Profiling;
use onnxport_requests::verify::{InMemory, Verified, VerifyRequest};
use schemars::JsonSchema;
use serde::Deserialize;

use super::histogram::histograms;
use super::reports::{Contents, ReportArguments};
use super::{bisect, profiled, verified};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Arguments of `verify`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    #[command(flatten)]
    #[serde(flatten)]
    hosted: Hosted<VerifyRequest>,
    #[command(flatten)]
    #[serde(flatten)]
    reports: ReportArguments,
}

/// Verifies a model.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    run_against(arguments, None, progress)
}

/// Verifies a model, against a `program` in memory if one is given.
pub(crate) fn run_against(
    arguments: &Arguments,
    program: Option<&InMemory>,
    progress: &Progress,
) -> CommandResult {
    let Hosted { request, .. } = &arguments.hosted;
    let others: Vec<PathBuf> = std::iter::once(&request.model).chain(&request.against).cloned().collect();
    profiled::around(&request.profiling, "verify", &others, || verify(arguments, program, progress))
}

fn verify(arguments: &Arguments, program: Option<&InMemory>, progress: &Progress) -> CommandResult {
    let Arguments { hosted: Hosted { request, plugins }, reports } = arguments;
    reports.check()?;
    let host = plugins::host(plugins)?;
    plugins::prepare_for(&host, request.executor.first().map(String::as_str), &request.runtime);
    let request = VerifyRequest { profiling: Profiling::default(), ..request.clone() };
    let found = request.run_against(&host, program, &mut progress.clone())?;
    let Verified { verifications, source, values, failures, profile: _, notes, fallbacks } = found;
    let mut outcome = Outcome::ok();
    outcome.report.diagnostics.extend(notes);
    for failure in failures {
        outcome.fail(failure);
    }
    verified::describe_all(&verifications, &source, &mut outcome);
    if let Some(values) = &values {
        outcome.add(bisect::describe(values));
    }
    outcome.report.diagnostics.extend(fallbacks);
    let text = format!("{}{}{}", outcome.summary, outcome.text, histograms(&verifications));
    let name = request.model.file_name().unwrap_or_default().to_string_lossy();
    let page = || onnxport_report::verification(&name, &verifications, values.as_ref());
    let contents = Contents { command: "verify", text: &text, page: &page };
    reports.write(&[request.model.clone(), source], &contents, &mut outcome)?;
    Ok(outcome)
}
