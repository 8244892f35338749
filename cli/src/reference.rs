//! Where expected values come from: the argument of every command that verifies.

use std::time::Duration;

use clap::{Args, ValueEnum};
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::verify::{Against, Reference};

use crate::progress::Progress;

/// Says what `--reference` says.
const VARIABLE: &str = "ONNXPORT_REFERENCE";

/// Arguments about what a model is compared with.
#[derive(Debug, Args)]
pub(crate) struct ReferenceArguments {
    /// Where expected values come from; by default, the recorded values, or else PyTorch if the active Python has it.
    /// Also read from `ONNXPORT_REFERENCE`
    #[arg(long, value_enum, value_name = "FROM")]
    reference: Option<From>,
    /// Whether the environment says nothing about it.
    #[arg(skip)]
    is_alone: bool,
}

/// Where expected values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum From {
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

impl ReferenceArguments {
    /// The same, whatever the environment says: what it names is for programs in files.
    pub(crate) fn alone(&mut self) {
        self.is_alone = true;
    }

    /// Whether calls are drawn besides those that are recorded.
    pub(crate) fn draws(&self) -> bool {
        matches!(self.chosen(), Ok(Some(From::Torch)))
    }

    /// Whether the evaluator says what is expected.
    pub(crate) fn evaluates(&self) -> bool {
        matches!(self.chosen(), Ok(Some(From::Evaluator)))
    }

    /// The argument, else what the environment says. Usages that the parser prints would show a variable that it
    /// reads as an argument that was given.
    fn chosen(&self) -> Result<Option<From>, Diagnostic> {
        match (self.reference, std::env::var(VARIABLE)) {
            (None, Ok(name)) if !self.is_alone => From::from_str(&name, false).map(Some).map_err(|_| {
                let known = "use torch, recorded, evaluator or none";
                Diagnostic::error(Code::USAGE, format!("{VARIABLE} is `{name}`")).help(known)
            }),
            (given, _) => Ok(given),
        }
    }

    /// Finds the expected values of `against`. What is worth knowing of it is a note.
    pub(crate) fn refer(
        &self,
        against: &mut Against,
        limit: Option<Duration>,
        progress: &Progress,
    ) -> Result<Option<Diagnostic>, Diagnostic> {
        let reference = match self.chosen()? {
            None => Reference::Found,
            Some(From::Torch) => Reference::Torch,
            Some(From::Recorded) => Reference::Recorded,
            Some(From::Evaluator | From::None) => Reference::None,
        };
        progress.stage("finding expected values");
        against.refer(reference, limit)
    }
}
