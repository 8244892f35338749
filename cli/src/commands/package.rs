//! `onnxport package`.

use std::fmt::Write;

use clap::Args;
use onnxport_core::diagnose::Report;
use onnxport_core::write::{self, PackageReport};
use onnxport_requests::package::{Done, PackageRequest, Packaged, PackagedModel, gather};
use onnxport_requests::profiling::Profiling;
use onnxport_requests::writing::Planned;
use onnxport_requests::{Hosted, Request};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::optimising;
use super::packaged;
use super::profiled;
use super::reports::{Contents, ReportArguments};
use super::verifying;
use super::writing;
use crate::backends;
use crate::decomposing;
use crate::exit::Exit;
use crate::format::bold;
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::precision;
use crate::progress::Progress;
use crate::target;

/// Arguments of `package`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    #[command(flatten)]
    #[serde(flatten)]
    hosted: Hosted<PackageRequest>,
    #[command(flatten)]
    #[serde(flatten)]
    reports: ReportArguments,
}

/// Converts all programs, writes them into one folder and verifies them there.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    let Arguments { hosted: Hosted { request, .. }, reports } = arguments;
    reports.check_several()?;
    // A report describes models, and is not written for wrong options.
    request.levels.check()?;
    request.converting.check()?;
    let sources = request.sources();
    let work = || package(&arguments.hosted, progress);
    let mut result = profiled::around(&request.profiling, "package", &sources, work);
    let (Ok(outcome) | Err(outcome)) = &mut result;
    let text = format!("{}{}", outcome.summary, outcome.text);
    let contents = Contents { command: "package", text: &text, page: &String::new };
    reports.write(&sources, &contents, outcome)?;
    result
}

fn package(arguments: &Hosted<PackageRequest>, progress: &Progress) -> CommandResult {
    let Hosted { request, plugins } = arguments;
    request.check()?;
    let host = plugins::host(plugins)?;
    if request.verifies() {
        plugins::prepare(&host, &request.converting.verifying.running);
    }
    let request = PackageRequest { profiling: Profiling::default(), ..request.clone() };
    let packaged = request.run(&host, &mut progress.clone())?;
    Ok(describe(&request, packaged))
}

fn describe(request: &PackageRequest, packaged: Packaged) -> Outcome {
    let Packaged { models, done, failures, profile: _ } = packaged;
    let mut outcome = match &done {
        Done::Planned(plan) => {
            let options = request.converting.metadata.apply(request.files.options());
            let shown = request.planning.plan.unwrap_or(Planned::Files);
            let mut report = Report::default();
            for model in models {
                let name = model.name();
                gather(&mut report, model.report, &name);
            }
            writing::planned(plan, &options, shown, report)
        }
        Done::Refused => {
            let mut outcome = Outcome::ok();
            for model in models {
                let name = model.name();
                gather(&mut outcome.report, model.report, &name);
            }
            outcome.refuse();
            outcome
        }
        Done::Withheld => described(request, models, None),
        Done::Kept(written) | Done::Written(written) => described(request, models, Some(written)),
    };
    for failure in failures {
        outcome.fail(failure);
    }
    outcome
}

/// Describes models that were to be written.
fn described(
    request: &PackageRequest,
    models: Vec<PackagedModel>,
    written: Option<&PackageReport>,
) -> Outcome {
    let mut outcome = written.map_or_else(Outcome::ok, packaged::describe);
    let mut listed = Vec::with_capacity(models.len());
    for (at, model) in models.into_iter().enumerate() {
        let name = model.name();
        let mut own = describe_model(request, model);
        if !own.summary.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(outcome.summary, "{}\n{}", bold(&name), own.summary);
        }
        own.put("name", &name);
        if let Some((path, size)) = written.and_then(|written| written.models.get(at)) {
            own.put("path", path.display().to_string());
            own.put("bytes", size);
        }
        outcome.exit = outcome.exit.max(own.exit);
        listed.push(Value::Object(own.json));
        gather(&mut outcome.report, own.report, &name);
    }
    outcome.put("models", listed);
    if outcome.exit != Exit::Ok {
        let kept = written.map(|_| write::failed_package(&request.output));
        outcome.report.diagnostics.push(verifying::withheld(&request.output, kept.as_deref()));
    }
    outcome
}

fn describe_model(request: &PackageRequest, model: PackagedModel) -> Outcome {
    let mut outcome = Outcome::ok();
    if let Some(partitioned) = &model.partitioned {
        outcome.summary.push_str(&backends::summary(partitioned));
        outcome.put("backends", &partitioned.backends);
    }
    precision::describe(&model.changed, &mut outcome);
    target::describe(&model.legalised, &mut outcome);
    decomposing::describe(&model.decomposed, &mut outcome);
    let name = model.name();
    optimising::describe(&request.converting.optimizing, &model.optimised, &name, &mut outcome);
    outcome.report = model.report;
    outcome.add(verifying::describe(model.checked));
    if !request.buckets.is_empty() {
        outcome.put("model", &model.base);
        outcome.put("sizes", &model.variant);
    }
    outcome
}
