//! Holding a model that was rewritten against the one before.

use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::host::Host;
use onnxport_core::verify::{Against, Drawing, Options, Rule, Signature};

use super::verified;
use super::verify::{RuntimeArguments, parse_rule, tolerance};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Of the largest call that is drawn all values may take so much, by estimate.
const LARGEST_CALL: u64 = 64 << 20;

/// Arguments about the model before.
#[derive(Debug, Args)]
#[command(next_help_heading = "Verifying")]
pub(crate) struct HoldingArguments {
    /// Run the model before and after on the same values, and write it only if both compute the same
    #[arg(long)]
    pub verify: bool,
    /// Keep a model that computes something else, as OUTPUT with `.failed` in its name
    #[arg(long, requires = "verify")]
    pub keep_failed: bool,
    /// A file with calls, as `onnxport verify` takes them; values are drawn otherwise. Can be repeated
    #[arg(long = "inputs", value_name = "FILE", requires = "verify")]
    inputs: Vec<PathBuf>,
    /// How the values of an input are drawn, as `onnxport verify` takes it; can be repeated
    #[arg(long = "draw", value_name = "INPUT=RULE", value_parser = parse_rule, requires = "verify")]
    rules: Vec<(String, Rule)>,
    /// What drawn values depend on
    #[arg(long, value_name = "NUMBER", requires = "verify")]
    seed: Option<u64>,
    /// Replace the relative tolerance of floating-point outputs
    #[arg(long, value_name = "NUMBER", value_parser = tolerance, requires = "verify")]
    rtol: Option<f64>,
    /// Replace the absolute tolerance of floating-point outputs
    #[arg(long, value_name = "NUMBER", value_parser = tolerance, requires = "verify")]
    atol: Option<f64>,
    #[command(flatten)]
    runtime: RuntimeArguments,
}

impl HoldingArguments {
    /// Starts to look for what will run the models.
    pub(crate) fn prepare(&self, host: &Host) {
        if self.verify {
            plugins::prepare(host, &self.runtime);
        }
    }

    /// Runs the models `before` and `after` in the same executor and compares what they give; the outcome is a failure
    /// where they differ, and where nothing could be compared.
    pub(crate) fn hold(
        &self,
        host: &Host,
        before: &Path,
        after: &Path,
        progress: &Progress,
    ) -> CommandResult {
        let signature = Signature::read(before)?;
        let mut against = if self.inputs.is_empty() {
            let drawing = Drawing {
                besides: true,
                extremes: Some(LARGEST_CALL),
                seed: self.seed,
                rules: self.rules.clone(),
            };
            Against::of_model(before, &drawing)?
        } else {
            let mut given = Against::default();
            given.give(&self.inputs, &signature)?;
            given
        };
        against.step(&signature);
        let runtime = plugins::runtime(host, &self.runtime)?;
        let options = Options { rtol: self.rtol, atol: self.atol, ..Options::default() };
        let limit = self.runtime.options.deadline();
        let reference = verified::consult(&runtime, before, &mut against, &options, limit, progress)?;
        against.oracle = Some(format!("{} in {}", before.display(), reference.executor));
        let verification = verified::execute(&runtime, after, &against, &options, limit, progress)?;
        let mut outcome = Outcome::ok();
        verified::describe(&verification, before, &mut outcome);
        if verification.passed() && !verification.says_something() {
            let message = format!(
                "nothing was compared, as --verify asks: no call of {} says anything",
                before.display()
            );
            let help = "name calls that the model takes with --inputs, or how values are drawn with --draw";
            outcome.fail(Diagnostic::error(Code::VERIFY_EXPECTED, message).help(help));
        }
        Ok(outcome)
    }
}
