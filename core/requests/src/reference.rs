//! The option about the source of expected values.

use std::time::Duration;

use clap::{Args, ValueEnum};
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::verify::{Against, Reference, Verification};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::progress::Progress;

/// The environment variable for the option.
const VARIABLE: &str = "ONNXPORT_REFERENCE";

/// The source of expected values.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct Referring {
    /// Where expected values come from; by default, the recorded values, or else PyTorch if the active Python has it.
    /// Also read from `ONNXPORT_REFERENCE`
    #[arg(long, value_enum, value_name = "FROM")]
    pub reference: Option<From>,
    /// Whether the variable does not count.
    #[arg(skip)]
    #[serde(skip)]
    pub without_environment: bool,
}

/// Where expected values come from.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum From {
    /// The program itself, run by PyTorch in the active Python on recorded and generated inputs. PyTorch may execute
    /// code from the file: use it only for files that you would load yourself
    Torch,
    /// The values that `onnxport.save` recorded beside the program
    Recorded,
    /// onnxport's own evaluator, which runs the same model: this checks the executor, not the conversion
    Evaluator,
    /// Nothing: check only element types and shapes
    None,
}

impl Referring {
    /// Ignores the environment, whose value is for programs in files.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self { without_environment: true, ..self.clone() }
    }

    /// Whether calls are generated besides the recorded ones.
    pub fn draws(&self) -> bool {
        matches!(self.chosen(), Ok(Some(From::Torch)))
    }

    /// Whether the evaluator supplies the expected values.
    pub fn evaluates(&self) -> bool {
        matches!(self.chosen(), Ok(Some(From::Evaluator)))
    }

    /// Returns the argument, or else the value of the environment variable. It is not declared to the parser,
    /// because printed usages would show the variable as a given argument.
    fn chosen(&self) -> Result<Option<From>, Diagnostic> {
        match (self.reference, std::env::var(VARIABLE)) {
            (None, Ok(name)) if !self.without_environment => {
                From::from_str(&name, false).map(Some).map_err(|_| {
                    let known = "use torch, recorded, evaluator or none";
                    Diagnostic::error(Code::USAGE, format!("{VARIABLE} is `{name}`")).help(known)
                })
            }
            (given, _) => Ok(given),
        }
    }

    /// Where expected values come from.
    ///
    /// # Errors
    /// `OP001` for a variable that names no source.
    pub fn source(&self) -> Result<Reference, Diagnostic> {
        Ok(match self.chosen()? {
            None => Reference::Found,
            Some(From::Torch) => Reference::Torch,
            Some(From::Recorded) => Reference::Recorded,
            Some(From::Evaluator | From::None) => Reference::None,
        })
    }

    /// Finds the expected values of `against`. Remarks on it are notes.
    ///
    /// # Errors
    /// `OP001` if the variable names an unknown source, and the errors of a source that was named.
    pub fn refer(
        &self,
        against: &mut Against,
        limit: Option<Duration>,
        progress: &mut dyn Progress,
    ) -> Result<Option<Diagnostic>, Diagnostic> {
        let reference = self.source()?;
        progress.stage("finding expected values");
        against.refer(reference, limit)
    }
    /// Measures the numerical noise of the program if rounding may explain the results of `judged`, whose outputs exceed the
    /// tolerance of their types. Returns whether to judge them again.
    ///
    /// # Errors
    /// `OP001` if the variable names an unknown source.
    pub fn measure_noise(
        &self,
        against: &mut Against,
        judged: &[Verification],
        limit: Option<Duration>,
        progress: &mut dyn Progress,
    ) -> Result<bool, Diagnostic> {
        if !judged.iter().any(Verification::may_be_noise) {
            return Ok(false);
        }
        progress.stage("measuring the numerical noise");
        Ok(against.measure_noise(self.source()?, limit))
    }
}
