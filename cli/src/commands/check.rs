//! `onnxport check`.

use clap::Args;
use onnxport_requests::check::{CheckRequest, Obstacles};
use onnxport_requests::profiling::Profiling;
use onnxport_requests::{Hosted, Request, value};
use schemars::JsonSchema;
use serde::Deserialize;

use super::profiled;
use super::reports::ReportArguments;
use super::suggesting::{self, Wanted};
use crate::exit::Exit;
use crate::format::{count, good};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Arguments of `check`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    #[command(flatten)]
    #[serde(flatten)]
    hosted: Hosted<CheckRequest>,
    /// Print code to paste: lowerings for missing operators, replacements for modules
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    #[serde(default, with = "value::optional")]
    #[schemars(schema_with = "value::optional::schema::<Wanted>")]
    suggest: Option<Wanted>,
    #[command(flatten)]
    #[serde(flatten)]
    reports: ReportArguments,
}

/// Finds and reports everything that cannot be converted.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    let Arguments { hosted: Hosted { request, .. }, suggest, reports } = arguments;
    reports.check()?;
    request.check()?;
    let sources = std::slice::from_ref(&request.program);
    let work = || check(&arguments.hosted, progress);
    let mut result = profiled::around(&request.profiling, "check", sources, work);
    let (Ok(outcome) | Err(outcome)) = &mut result;
    if let Some(wanted) = *suggest {
        outcome.text.push_str(&suggesting::text(&outcome.report, wanted));
    }
    reports.write_model("check", &request.program, None, outcome)?;
    result
}

fn check(arguments: &Hosted<CheckRequest>, progress: &Progress) -> CommandResult {
    let Hosted { request, plugins } = arguments;
    let host = plugins::host(plugins)?;
    let request = CheckRequest { profiling: Profiling::default(), ..request.clone() };
    Ok(describe(&request, request.run(&host, &mut progress.clone())?))
}

/// Describes the obstacles to a conversion.
pub(crate) fn describe(request: &CheckRequest, found: Obstacles) -> Outcome {
    let Obstacles { calls, convertible, gaps, report, failures, profile: _ } = found;
    let mut outcome = Outcome::ok().with("opset", request.opset).with("calls", calls).with("gaps", gaps);
    if convertible {
        outcome.summary =
            format!("{}  all of {} at opset {}\n", good("convertible"), count(calls, "call"), request.opset);
    } else {
        outcome.exit = Exit::of(&report);
    }
    outcome.report = report;
    outcome.refuse();
    for failure in failures {
        outcome.fail(failure);
    }
    outcome
}
