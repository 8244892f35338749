//! `onnxport plugin check`, and its child processes.

use std::path::PathBuf;

use clap::Args;
use onnxport_check::{self as check, Finding, Probe, Verdict};
use onnxport_core::Host;
use onnxport_requests::Request;
use onnxport_requests::plugin::PluginCheckRequest;

use crate::exit::Exit;
use crate::format::{bad, bold, count, faint, good, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Arguments of the hidden `plugin probe`.
#[derive(Debug, Args)]
pub(crate) struct ProbeArguments {
    library: PathBuf,
    #[arg(long)]
    name: String,
    #[arg(long)]
    journal: PathBuf,
    #[arg(long)]
    skip: usize,
}

/// Checks a library, each probe in a separate process.
pub(crate) fn run(request: &PluginCheckRequest, progress: &Progress) -> CommandResult {
    let checked = request.run(&Host::new(&[])?, &mut progress.clone())?;
    let [passed, failed, skipped] =
        [Verdict::Pass, Verdict::Fail, Verdict::Skip].map(|verdict| checked.count(verdict));
    let rows: Vec<Vec<String>> = checked.findings.iter().flat_map(rows).collect();
    let mut outcome = Outcome::text(table(&rows))
        .with("library", request.library.display().to_string())
        .with("passed", passed)
        .with("failed", failed)
        .with("skipped", skipped)
        .with("checks", &checked.findings);
    outcome.exit = Exit::of(&checked.report());
    outcome.summary = format!(
        "{}: {passed} passed, {failed} failed, {skipped} skipped\n",
        bold(&count(checked.findings.len(), "check"))
    );
    Ok(outcome)
}

/// Formats a finding, and below it the advice for the author.
fn rows(finding: &Finding) -> Vec<Vec<String>> {
    let verdict = match finding.verdict {
        Verdict::Pass => good("pass"),
        Verdict::Fail => bad(&format!("fail[{}]", finding.failure())),
        Verdict::Skip => faint("skip"),
    };
    let mut rows = vec![vec![verdict, bold(&finding.check), finding.reason.clone()]];
    if !finding.next.is_empty() && finding.verdict != Verdict::Pass {
        rows.push(vec![String::new(), String::new(), faint(&finding.next)]);
    }
    rows
}

/// The work of a process that [`run`] starts.
pub(crate) fn probe(arguments: &ProbeArguments) -> CommandResult {
    let probe = Probe {
        name: arguments.name.clone(),
        library: arguments.library.clone(),
        journal: arguments.journal.clone(),
        skip: arguments.skip,
    };
    check::probe(&probe, &plugins::linked())?;
    Ok(Outcome::ok())
}
