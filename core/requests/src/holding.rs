//! The options about comparing a rewritten model with the original.

use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::Host;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::verify::{Against, Drawing, Options, Signature, Verification};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::needs;
use crate::progress::Progress;
use crate::runtime::{Running, consult, execute};
use crate::value::{Draw, Tolerance};

/// The limit on the estimated memory of all values of a generated call, in bytes.
const LARGEST_CALL: u64 = 64 << 20;

/// A comparison with the model before.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Verifying")]
#[serde(default)]
pub struct Holding {
    /// Run the model before and after on the same inputs, and write it only if the results agree
    #[arg(long)]
    pub verify: bool,
    /// Keep a model whose results differ, as OUTPUT with `.failed` in its name
    #[arg(long, requires = "verify")]
    pub keep_failed: bool,
    /// A file with input values, as for `onnxport verify`; random values otherwise. Can be repeated
    #[arg(long, value_name = "FILE", requires = "verify")]
    pub inputs: Vec<PathBuf>,
    /// How to generate the values of an input, as for `onnxport verify`; can be repeated
    #[arg(long, value_name = "INPUT=RULE", requires = "verify")]
    pub draw: Vec<Draw>,
    /// Seed for random values
    #[arg(long, value_name = "NUMBER", requires = "verify")]
    pub seed: Option<u64>,
    /// Override the relative tolerance for floating-point outputs
    #[arg(long, value_name = "NUMBER", requires = "verify")]
    pub rtol: Option<Tolerance>,
    /// Override the absolute tolerance for floating-point outputs
    #[arg(long, value_name = "NUMBER", requires = "verify")]
    pub atol: Option<Tolerance>,
    /// The runtime.
    #[command(flatten)]
    #[serde(flatten)]
    pub running: Running,
}

/// The result of a comparison.
#[derive(Debug)]
pub struct Held {
    /// The results of the new model, compared with those of the old one.
    pub verification: Verification,
    /// The error that nothing was compared, which is a failure.
    pub failure: Option<Diagnostic>,
}

impl Held {
    /// Whether both models compute the same.
    pub fn passed(&self) -> bool {
        self.failure.is_none() && self.verification.passed()
    }
}

impl Holding {
    /// Fails if options of a comparison are given without requesting one.
    ///
    /// # Errors
    /// `OP001`.
    pub fn check(&self) -> Result<(), Diagnostic> {
        let Self { verify, keep_failed, inputs, draw, seed, rtol, atol, .. } = self;
        let given = [
            ("keep_failed", *keep_failed),
            ("inputs", !inputs.is_empty()),
            ("draw", !draw.is_empty()),
            ("seed", seed.is_some()),
            ("rtol", rtol.is_some()),
            ("atol", atol.is_some()),
        ];
        needs("verify", *verify, &given)
    }

    /// Runs two models and compares their results: the one before, and the one after, each with its runtime.
    ///
    /// # Errors
    /// Those of reading the calls, of opening the runtime and of running the models.
    pub fn hold(
        &self,
        host: &Host,
        [(judge, before), (running, after)]: [(&Running, &Path); 2],
        progress: &mut dyn Progress,
    ) -> Result<Held, Report> {
        let signature = Signature::read(before)?;
        let mut against = if self.inputs.is_empty() {
            let rules = self.draw.iter().map(|draw| (draw.input.clone(), draw.rule)).collect();
            let drawing = Drawing { besides: true, extremes: Some(LARGEST_CALL), seed: self.seed, rules };
            Against::of_model(before, &drawing)?
        } else {
            let mut given = Against::default();
            given.give(&self.inputs, &signature)?;
            given
        };
        against.step(&signature);
        let runtime = running.open(host, progress.restart())?;
        let [rtol, atol] = [self.rtol, self.atol].map(|bound| bound.map(|Tolerance(bound)| bound));
        let options = Options { rtol, atol, ..Options::default() };
        let limit = running.options.deadline();
        let reference = if judge == running {
            consult(&runtime, before, &mut against, &options, limit, progress)?
        } else {
            let judge = judge.open(host, progress.restart())?;
            consult(&judge, before, &mut against, &options, limit, progress)?
        };
        against.oracle = Some(format!("{} in {}", before.display(), reference.executor));
        let verification = execute(&runtime, after, &against, &options, limit, progress)?;
        let failure = (verification.passed() && !verification.says_something()).then(|| {
            let message = format!(
                "--verify compared nothing: no call of {} produced a usable result",
                before.display()
            );
            let help = "give suitable input values with --inputs, or describe random ones with --draw";
            Diagnostic::error(Code::VERIFY_EXPECTED, message).help(help)
        });
        Ok(Held { verification, failure })
    }
}
