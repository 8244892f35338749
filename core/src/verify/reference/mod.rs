//! Expected values from the program itself: PyTorch runs it, in the Python that the user works with and in a
//! process of its own, on every call that the model is run on.
//!
//! What PyTorch loads may run code, which this program never does: an archive that holds more than arithmetic and
//! known operators is only given to it where the user asks for that. It also takes the memory of the weights.

mod child;
mod memory;
mod message;

#[cfg(all(test, unix))]
mod tests;

use std::path::Path;
use std::time::Duration;

use child::Child;
use message::Answer;

use super::expected::{Against, Case, Expected, Source};
use super::python::{self, Python};
use crate::diagnose::{Code, Diagnostic, Severity};

/// How long PyTorch may take where the user does not say.
const PATIENCE: Duration = Duration::from_mins(5);

/// Where expected values come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reference {
    /// Those that were recorded; PyTorch for calls without any, where an active Python has it.
    #[default]
    Found,
    /// PyTorch, for every call.
    Torch,
    /// Those that were recorded, and no others.
    Recorded,
    /// None: only types and shapes are checked.
    None,
}

impl Against {
    /// Finds expected values as `reference` says, within `limit`. Calls that are of use with values only are gone
    /// afterwards.
    ///
    /// Returns a note where PyTorch was there and could not say what is expected.
    ///
    /// # Errors
    /// `OP706` where PyTorch was asked for, and cannot say it.
    pub fn refer(
        &mut self,
        reference: Reference,
        limit: Option<Duration>,
    ) -> Result<Option<Diagnostic>, Diagnostic> {
        let outcome = match reference {
            Reference::Found if self.cases.iter().any(|case| case.expected.is_none()) => self.look(limit),
            Reference::Found | Reference::Recorded => Ok(()),
            Reference::Torch => self.insist(limit),
            Reference::None => {
                self.cases.iter_mut().for_each(Case::forget);
                Ok(())
            }
        };
        self.cases.retain(|case| !case.trial || case.source == Source::Torch);
        match outcome {
            Ok(()) => Ok(None),
            Err(why) if reference == Reference::Torch => {
                let message = format!("PyTorch cannot say what the model must compute: {why}");
                let help =
                    "without `--reference torch`, recorded values are compared, or types and shapes only";
                Err(Diagnostic::error(Code::VERIFY_REFERENCE, message).help(help))
            }
            Err(why) => {
                let message = format!("PyTorch was not asked what the model must compute: {why}");
                let found = Diagnostic::error(Code::VERIFY_REFERENCE, message);
                let help = "`--reference torch` insists on it, `--reference recorded` does not look for it";
                Ok(Some(Diagnostic { severity: Severity::Note, ..found.help(help) }))
            }
        }
    }

    /// Asks a PyTorch that is there, if that is safe.
    fn look(&mut self, limit: Option<Duration>) -> Result<(), String> {
        let Some(path) = self.program.clone() else { return Ok(()) };
        let found = python::active().into_iter().find(|python| python.package("torch").is_some());
        let Some(python) = found else { return Ok(()) };
        memory::check(&path)?;
        self.ask(&python, &path, false, limit)
    }

    fn insist(&mut self, limit: Option<Duration>) -> Result<(), String> {
        let path = self.program.clone().ok_or("the values do not belong to a program that it could load")?;
        let mut all = python::active();
        // What packages a launcher's Python has shows when it is started.
        all.sort_by_key(|python| python.package("torch").is_none());
        let python =
            all.first().ok_or("no Python is active: neither an environment, nor `python3` on PATH")?;
        self.ask(python, &path, true, limit)
    }

    fn ask(
        &mut self,
        python: &Python,
        path: &Path,
        trusted: bool,
        limit: Option<Duration>,
    ) -> Result<(), String> {
        let asked: Vec<&Case> = self.cases.iter().collect();
        let request = message::request(&asked)?;
        let told = |why: String| format!("`{}`: {why}", python.interpreter.display());
        let limit = limit.unwrap_or(PATIENCE);
        let mut child = Child::start(&python.interpreter, path, trusted, request, limit).map_err(told)?;
        let answers = answers(&mut child, self.cases.len()).map_err(told)?;
        let (version, answers) = answers;
        let first = answers.iter().zip(&self.cases).find(|(_, case)| !case.drawn && !self.made);
        if let Some((Err(why), case)) = first {
            return Err(told(format!("it does not run the case {}: {why}", case.name)));
        }
        for (case, answer) in self.cases.iter_mut().zip(answers) {
            case.forget();
            match answer {
                Ok(values) => (case.expected, case.source) = (Some(values), Source::Torch),
                Err(why) => case.refused = Some(why),
            }
        }
        self.torch = Some(format!("PyTorch {version} ({})", python.interpreter.display()));
        Ok(())
    }
}

impl Case {
    fn forget(&mut self) {
        (self.expected, self.source) = (None, Source::Nothing);
    }
}

/// The version of PyTorch, and the answer to each of `count` cases: values, or why the program refuses it.
fn answers(child: &mut Child, count: usize) -> Result<(String, Vec<Result<Expected, String>>), String> {
    let mut next = || -> Result<Answer, String> {
        message::read(child.answer()?).map_err(|why| format!("its answer is not one: {why}"))
    };
    let version = match next()? {
        Answer::Greeting(version) => version,
        Answer::Error(why) => return Err(why),
        _ => return Err("it answers without a greeting".to_owned()),
    };
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        let (number, answer) = match next()? {
            Answer::Values(number, values) => (number, Ok(values)),
            Answer::Refused(number, why) => (number, Err(why)),
            Answer::Error(why) => return Err(why),
            Answer::Greeting(_) => return Err("it greets twice".to_owned()),
        };
        if number != all.len() {
            return Err(format!("it answers about case {number} where case {} was asked for", all.len()));
        }
        all.push(answer);
    }
    Ok((version, all))
}
