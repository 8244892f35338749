//! Running a model that was written a moment ago.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic, Report, Severity};
use onnxport_core::host::Host;
use onnxport_core::pt2::Archive;
use onnxport_core::verify::{Against, Options};

use super::verify::{self, RuntimeArguments};
use crate::exit::Exit;
use crate::format::bold;
use crate::outcome::Outcome;
use crate::plugins;
use crate::progress::Progress;

/// Arguments about running what was written.
#[derive(Debug, Args)]
pub(crate) struct VerifyingArguments {
    /// Do not run the model
    #[arg(long)]
    pub no_verify: bool,
    #[command(flatten)]
    runtime: RuntimeArguments,
}

/// The calls to verify with, and the file that they come from.
pub(crate) type Calls = Result<(Against, PathBuf), Report>;

/// The calls for the program at `path`; `reweighted` when it has other weights than it was saved with.
pub(crate) fn calls(path: &Path, archive: &Archive, reweighted: bool) -> Calls {
    let sidecar = Against::sidecar_path(path);
    // Values that were recorded with other weights say nothing about these.
    if sidecar.exists() && !reweighted {
        return Ok((Against::read(&sidecar)?, sidecar));
    }
    // Those of fake tensors are fake, and some are of classes that are not read.
    let calls =
        Against::of_archive(archive).or_else(|report| Against::made(&archive.program).map_err(|_| report))?;
    Ok((calls, path.to_owned()))
}

impl VerifyingArguments {
    /// Runs the model at `path`; that it cannot is a note unless the user said with what. Where weights
    /// were `changed` on purpose, values are measured and not judged.
    pub(crate) fn verify(
        &self,
        host: &Host,
        path: &Path,
        calls: Calls,
        changed: bool,
        progress: &Progress,
        outcome: &mut Outcome,
    ) -> Result<(), Outcome> {
        let asked = self.runtime.ort_library.is_some() || !self.runtime.executor_options.is_empty();
        let runtime = match plugins::runtime(host, &self.runtime) {
            Ok(runtime) => runtime,
            Err(diagnostic) if !asked && diagnostic.code == Code::VERIFY_NO_EXECUTOR => {
                skipped(outcome, &diagnostic);
                return Ok(());
            }
            Err(diagnostic) => return Err(diagnostic.into()),
        };
        let (against, source) = match calls {
            Ok(found) => found,
            Err(report) => {
                for diagnostic in &report.diagnostics {
                    skipped(outcome, diagnostic);
                }
                return Ok(());
            }
        };
        let options = Options { measure: changed, ..Options::default() };
        match verify::execute(&runtime, path, &against, &options, progress) {
            Ok(verification) => verify::describe(&verification, &source, outcome),
            Err(diagnostic) if !asked && diagnostic.code == Code::VERIFY_NO_EXECUTOR => {
                skipped(outcome, &diagnostic);
            }
            Err(diagnostic) => {
                let report = Report::from(diagnostic);
                outcome.exit = Exit::of(&report);
                outcome.report.diagnostics.extend(report.diagnostics);
            }
        }
        if outcome.exit != Exit::Ok {
            outcome.report.diagnostics.push(Diagnostic {
                severity: Severity::Note,
                ..Diagnostic::error(
                    Code::VERIFY_MISMATCH,
                    format!("{} was written, but do not trust it", path.display()),
                )
            });
        }
        Ok(())
    }
}

/// Says that a model was not run, and why.
pub(crate) fn skipped(outcome: &mut Outcome, why: &Diagnostic) {
    let help = why.help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
    // Writing to a String cannot fail.
    let _ = writeln!(outcome.summary, "{}  {}{help}", bold("not verified"), why.message);
    outcome.put("not_verified", &why.message);
}
