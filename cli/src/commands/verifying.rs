//! Running a model before it is published.

use std::fmt::Write;
use std::path::Path;

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic, Severity};
use onnxport_core::verify::{Options, Signature};
use onnxport_core::{Calls, Host};
use onnxport_requests::reference::Referring;
use onnxport_requests::runtime::{self, Running};

use super::verified;
use crate::format::bold;
use crate::outcome::Outcome;
use crate::plugins;
use crate::progress::Progress;

/// Arguments about verifying the written model.
#[derive(Debug, Args)]
pub(crate) struct VerifyingArguments {
    /// Do not run the model
    #[arg(long)]
    pub no_verify: bool,
    /// Fail if the model cannot be run or if there are no expected values
    #[arg(long, conflicts_with = "no_verify")]
    require_verified: bool,
    /// Keep a model that fails, as OUTPUT with `.failed` in its name, instead of discarding it
    #[arg(long, conflicts_with = "no_verify")]
    pub keep_failed: bool,
    #[command(flatten)]
    pub referring: Referring,
    #[command(flatten)]
    runtime: Running,
}

impl VerifyingArguments {
    /// Starts to look for a runtime.
    pub(crate) fn prepare(&self, host: &Host) {
        if !self.no_verify {
            plugins::prepare(host, &self.runtime);
        }
    }

    /// Verifies the model at `path`; the outcome is a failure if the model must not be published. A missing
    /// runtime is only a note unless the user named one, or requires the verification.
    pub(crate) fn verify(&self, host: &Host, path: &Path, calls: Calls, progress: &Progress) -> Outcome {
        let mut outcome = Outcome::ok();
        let Running { executor, options } = &self.runtime;
        let asked =
            executor.is_some() || options.ort_library.is_some() || !options.executor_option.is_empty();
        let is_skipped = |found: &Diagnostic| !asked && found.code == Code::VERIFY_NO_EXECUTOR;
        let runtime = match plugins::runtime(host, &self.runtime) {
            Ok(runtime) => runtime,
            Err(diagnostic) if is_skipped(&diagnostic) => {
                self.skip(&mut outcome, &diagnostic);
                return outcome;
            }
            Err(diagnostic) => return diagnostic.into(),
        };
        let (mut against, source) = match calls {
            Ok(found) => found,
            Err(report) => {
                for diagnostic in &report.diagnostics {
                    self.skip(&mut outcome, diagnostic);
                }
                return outcome;
            }
        };
        let fitted = Signature::read(path).and_then(|signature| {
            against.step(&signature);
            against.fit(&signature)
        });
        if let Err(diagnostic) = fitted {
            outcome.fail(diagnostic);
            return outcome;
        }
        match self.referring.refer(&mut against, options.limit(), &mut progress.clone()) {
            Ok(note) => outcome.report.diagnostics.extend(note),
            Err(diagnostic) => {
                outcome.fail(diagnostic);
                return outcome;
            }
        }
        let limit = options.deadline();
        match runtime::execute(&runtime, path, &against, &Options::default(), limit, &mut progress.clone()) {
            Ok(verification) => {
                verified::describe(&verification, &source, &mut outcome);
                if self.require_verified && !verification.says_something() {
                    let message = "--require-verified: there are no expected values to compare with";
                    let help = "save the program with `onnxport.save(program, path)` of the Python package";
                    outcome.fail(Diagnostic::error(Code::VERIFY_EXPECTED, message).help(help));
                } else if self.require_verified && verification.has_one_size() {
                    let message = "--require-verified: the model was verified only at the recorded sizes";
                    let help =
                        "export the program so that it takes other sizes, or leave out --require-verified";
                    outcome.fail(Diagnostic::error(Code::VERIFY_EXPECTED, message).help(help));
                }
            }
            Err(diagnostic) if is_skipped(&diagnostic) => self.skip(&mut outcome, &diagnostic),
            Err(diagnostic) => outcome.fail(diagnostic),
        }
        outcome
    }

    /// Reports that a model was not run, and why; a failure if verification was required.
    pub(crate) fn skip(&self, outcome: &mut Outcome, why: &Diagnostic) {
        outcome.put("not_verified", &why.message);
        if self.require_verified {
            let message = format!("--require-verified: the model was not verified: {}", why.message);
            let code =
                if why.code == Code::VERIFY_NO_EXECUTOR { why.code.clone() } else { Code::VERIFY_EXPECTED };
            outcome.fail(Diagnostic { help: why.help.clone(), ..Diagnostic::error(code, message) });
            return;
        }
        let help = why.help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
        // Writing to a String cannot fail.
        let _ = writeln!(outcome.summary, "{}  {}{help}", bold("not verified"), why.message);
    }
}

/// Returns the note about the output at `path` of a model that failed: it was `kept` under another name, or not.
pub(crate) fn withheld(path: &Path, kept: Option<&Path>) -> Diagnostic {
    let path = path.display();
    let (message, help) = match kept {
        Some(kept) => (format!("the model is kept as `{}`; do not trust it", kept.display()), None),
        None => {
            let help = "use --keep-failed to keep a failed model, or --no-verify to skip the check";
            (format!("`{path}` was not written"), Some(help.to_owned()))
        }
    };
    Diagnostic { severity: Severity::Note, help, ..Diagnostic::error(Code::VERIFY_MISMATCH, message) }
}
