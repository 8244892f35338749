//! `onnxport profile`.

mod text;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use onnxport_core::Host;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::profile::Profile;
use onnxport_requests::profile::{ProfileRequest, Profiled};
use onnxport_requests::{Hosted, Request};
use schemars::JsonSchema;
use serde::Deserialize;

use super::reports::{Contents, ReportArguments};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Arguments of `profile`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    #[command(flatten)]
    #[serde(flatten)]
    hosted: Hosted<ProfileRequest>,
    /// Show only this breakdown
    #[arg(long, value_enum, value_name = "WHAT")]
    by: Option<By>,
    /// Show every row
    #[arg(long)]
    #[serde(default)]
    all: bool,
    #[command(flatten)]
    #[serde(flatten)]
    reports: ReportArguments,
}

/// The grouping of times.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub(super) enum By {
    /// The operators, as the runtime calls them
    Operator,
    /// The modules, including their submodules
    Module,
    /// The lines of source code
    Line,
    /// The nodes that the runtime ran
    Node,
}

/// Measures one or two models, and reports where the time goes.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    let Arguments { hosted: Hosted { request, plugins }, by, all, reports } = arguments;
    reports.check()?;
    // Saved profiles are compared without any plugin.
    let host = if request.runs_models() { plugins::host(plugins)? } else { Host::new(&[])? };
    if request.runs_models() {
        plugins::prepare(&host, &request.running);
    }
    let Profiled { profile, against, notes } = request.run(&host, &mut progress.clone())?;
    let shown: &[By] = match by {
        Some(by) => {
            answers(*by, &profile)?;
            std::slice::from_ref(by)
        }
        None => &[By::Operator, By::Module, By::Line],
    };
    let most = if *all { usize::MAX } else { text::ROWS };
    let text = match &against {
        Some(against) => text::changes(&profile, against, shown, most)?,
        None => text::profile(&profile, shown, most),
    };
    let mut outcome = Outcome::text(text).with("profile", &profile);
    outcome.report.diagnostics.extend(notes);
    if let Some(against) = &against {
        outcome.put("against", &against.profile);
        outcome.put("changes", &against.changes);
    }
    let sources: Vec<PathBuf> = std::iter::once(&request.model).chain(&request.against).cloned().collect();
    let page = || {
        let against = against.as_ref().map(|against| (&against.profile, &against.changes));
        onnxport_report::profile::page(&profile, against)
    };
    let text = outcome.text.clone();
    let contents = Contents { command: "profile", text: &text, page: &page };
    reports.write(&sources, &contents, &mut outcome)?;
    Ok(outcome)
}

/// Fails if the model lacks the metadata for the requested table.
fn answers(by: By, profile: &Profile) -> Result<(), Diagnostic> {
    let lacking = match by {
        By::Module if !profile.knows_modules() => "a module",
        By::Line if !profile.knows_lines() => "a line of code",
        _ => return Ok(()),
    };
    let message = format!("no node of `{}` records {lacking}", profile.model);
    Err(Diagnostic::error(Code::RUN_PROFILE, message)
        .help("convert with --metadata full, or ask for --by operator or --by node"))
}
