//! Running a model before it is published.

use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::verify::{Options, Signature, Verification};
use onnxport_core::{Calls, Host};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::levels::{Levels, has_error};
use crate::progress::Progress;
use crate::reference::Referring;
use crate::runtime::{Running, execute};

/// Whether and how the written model is verified.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct Verifying {
    /// Do not run the model
    #[arg(long)]
    pub no_verify: bool,
    /// Fail if the model cannot be run or if there are no expected values
    #[arg(long, conflicts_with = "no_verify")]
    pub require_verified: bool,
    /// Keep a model that fails, as OUTPUT with `.failed` in its name, instead of discarding it
    #[arg(long, conflicts_with = "no_verify")]
    pub keep_failed: bool,
    /// The source of expected values.
    #[command(flatten)]
    #[serde(flatten)]
    pub referring: Referring,
    /// The runtime.
    #[command(flatten)]
    #[serde(flatten)]
    pub running: Running,
}

/// The result of a verification before a model is published.
#[derive(Debug, Default)]
pub struct Checked {
    /// The comparison, and the source file of the calls.
    pub verification: Option<(Verification, PathBuf)>,
    /// The reasons why the model was not run, if that is not a failure.
    pub skipped: Vec<Diagnostic>,
    /// Notes and warnings, at the levels that the user chose.
    pub found: Vec<Diagnostic>,
    /// Failures besides differences of the results.
    pub failures: Vec<Diagnostic>,
}

impl Checked {
    /// Whether the model may be published.
    pub fn passed(&self) -> bool {
        let agrees = self.verification.as_ref().is_none_or(|(verification, _)| verification.passed());
        agrees && self.failures.is_empty() && !has_error(&self.found)
    }

    /// Whether the results were compared with expected values of the same weights, and agree.
    pub fn is_verified(&self) -> bool {
        self.passed() && self.verification.as_ref().is_some_and(|(verification, _)| is_judged(verification))
    }
}

impl Verifying {
    /// Verifies the model at `path`. A missing runtime is not a failure unless the user named one, or requires the
    /// verification.
    pub fn verify(
        &self,
        host: &Host,
        path: &Path,
        calls: Calls,
        levels: &Levels,
        progress: &mut dyn Progress,
    ) -> Checked {
        let mut checked = Checked::default();
        if let Err(failure) = self.run(host, path, calls, progress, &mut checked) {
            checked.failures.push(failure);
        }
        levels.judge(&mut checked.found);
        checked
    }

    fn run(
        &self,
        host: &Host,
        path: &Path,
        calls: Calls,
        progress: &mut dyn Progress,
        checked: &mut Checked,
    ) -> Result<(), Diagnostic> {
        let Running { executor, options } = &self.running;
        let asked =
            executor.is_some() || options.ort_library.is_some() || !options.executor_option.is_empty();
        let is_skipped = |found: &Diagnostic| !asked && found.code == Code::VERIFY_NO_EXECUTOR;
        let runtime = match self.running.open(host, progress.restart()) {
            Ok(runtime) => runtime,
            Err(why) if is_skipped(&why) => {
                self.skip(why, checked);
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        let (mut against, source) = match calls {
            Ok(found) => found,
            Err(report) => {
                report.diagnostics.into_iter().for_each(|why| self.skip(why, checked));
                return Ok(());
            }
        };
        let signature = Signature::read(path)?;
        against.step(&signature);
        against.fit(&signature)?;
        checked.found.extend(self.referring.refer(&mut against, options.limit(), progress)?);
        let limit = options.deadline();
        let verification = match execute(&runtime, path, &against, &Options::default(), limit, progress) {
            Ok(found)
                if self.referring.measure_noise(
                    &mut against,
                    std::slice::from_ref(&found),
                    options.limit(),
                    progress,
                )? =>
            {
                execute(&runtime, path, &against, &Options::default(), limit, progress)?
            }
            Ok(verification) => verification,
            Err(why) if is_skipped(&why) => {
                self.skip(why, checked);
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        checked.found.extend(verification.diagnostics());
        let (verification, _) = checked.verification.insert((verification, source));
        let (message, help) = if !verification.says_something() {
            (
                "--require-verified: there are no expected values to compare with",
                "save the program with `onnxport.save(program, path)` of the Python package",
            )
        } else if verification.has_one_size() {
            (
                "--require-verified: the model was verified only at the recorded sizes",
                "export the program so that it takes other sizes, or leave out --require-verified",
            )
        } else {
            return Ok(());
        };
        if self.require_verified {
            return Err(Diagnostic::error(Code::VERIFY_EXPECTED, message).help(help));
        }
        Ok(())
    }

    /// Returns the result for a model that cannot be run, with the reason.
    pub fn unrun(&self, why: Diagnostic, levels: &Levels) -> Checked {
        let mut checked = Checked::default();
        self.skip(why, &mut checked);
        levels.judge(&mut checked.found);
        checked
    }

    /// Records why a model was not run: a failure if the verification was required.
    fn skip(&self, why: Diagnostic, checked: &mut Checked) {
        if !self.require_verified {
            checked.skipped.push(why);
            return;
        }
        let message = format!("--require-verified: the model was not verified: {}", why.message);
        let code = if why.code == Code::VERIFY_NO_EXECUTOR { why.code } else { Code::VERIFY_EXPECTED };
        checked.failures.push(Diagnostic { help: why.help, ..Diagnostic::error(code, message) });
    }
}

/// Whether results were compared with expected values of the same weights.
pub fn is_judged(verification: &Verification) -> bool {
    verification.says_something() && !verification.measured
}
