//! `onnxport plugin check`, and its child processes.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use clap::Args;
use onnxport_check::{self as check, CheckOptions, Finding, Probe, Verdict};
use onnxport_core::diagnose::{Code, Diagnostic};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::again;
use crate::exit::Exit;
use crate::format::{bad, bold, count, faint, good, table};
use crate::outcome::{CommandResult, Outcome};

/// Arguments of `plugin check`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    /// The library
    #[serde(default)]
    library: PathBuf,
    /// Write the library's manifest beside it
    #[arg(long)]
    #[serde(default)]
    write_manifest: bool,
    /// Time limit for one step, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = default_timeout(), value_parser = clap::value_parser!(u64).range(1..))]
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1))]
    timeout: u64,
}

const fn default_timeout() -> u64 {
    10
}

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
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    if arguments.timeout == 0 {
        let message = "`timeout` is 0, and a step takes longer";
        return Err(Diagnostic::error(Code::USAGE, message).help("name at least 1 second").into());
    }
    let library = &arguments.library;
    if !library.is_file() {
        let message = format!("plugin library not found: {}", library.display());
        return Err(Diagnostic::error(Code::PLUGIN_FILE, message).into());
    }
    // Found before the check begins, and the same for each probe.
    let found = again::command(Code::PLUGIN_CHECK)?;
    let command = |probe: &Probe| {
        let mut command = Command::new(found.get_program());
        command.args(found.get_args()).args(["plugin", "probe"]).arg(&probe.library);
        command.args(["--name", &probe.name]).arg("--journal").arg(&probe.journal);
        command.args(["--skip", &probe.skip.to_string()]);
        command
    };
    let options = CheckOptions {
        limit: Duration::from_secs(arguments.timeout),
        write_manifest: arguments.write_manifest,
    };
    let checked = check::run(library, options, &command)?;
    let report = checked.report();
    let counts = [Verdict::Pass, Verdict::Fail, Verdict::Skip].map(|verdict| checked.count(verdict));
    let mut outcome = Outcome::ok()
        .with("library", library.display().to_string())
        .with("passed", counts[0])
        .with("failed", counts[1])
        .with("skipped", counts[2])
        .with("checks", &checked.findings);
    outcome.exit = Exit::of(&report);
    outcome.text = table(&checked.findings.iter().flat_map(rows).collect::<Vec<_>>());
    let [passed, failed, skipped] = counts;
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
    check::probe(&probe, &crate::plugins::linked())?;
    Ok(Outcome::ok())
}
