//! Expected values from the program itself: PyTorch runs it, in the Python that the user works with and in a
//! process of its own, on every call that the model is run on.
//!
//! A program that PyTorch loads may run code, which onnxport never does: an archive with more than arithmetic and
//! known operators is only given to it where the user asks for that. It also takes the memory of the weights.

mod ahead;
mod in_process;
mod memory;
mod message;

#[cfg(all(test, unix))]
mod tests;

use std::path::Path;
use std::time::Duration;

pub use ahead::Ahead;
use ahead::Started;
pub use in_process::InProcess;
use message::Answer;

use super::expected::{Against, Case, Expected, Floors, Source};
use crate::diagnose::{Code, Diagnostic, Severity};
use crate::interpreter::{self, Python};

/// The module in Python that runs the program.
pub const SCRIPT: &str = concat!(include_str!("selections.py"), "\n\n", include_str!("program.py"));
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
    /// Finds expected values as `reference` says, within `limit`. Where those of float64 are wanted as well
    /// ([`exact`](Self::exact)), PyTorch is asked also for recorded calls. Calls that are of use with values only
    /// are gone afterwards.
    ///
    /// Returns a note where PyTorch was there and could not compute the expected values.
    ///
    /// # Errors
    /// `OP706` where PyTorch was asked for, or runs the program within this process, and cannot say it.
    pub fn refer(
        &mut self,
        reference: Reference,
        limit: Option<Duration>,
    ) -> Result<Option<Diagnostic>, Diagnostic> {
        let lacks = |case: &Case| case.expected.is_none() && !case.continues;
        let insists =
            reference == Reference::Torch || reference == Reference::Found && self.in_process.is_some();
        let outcome = match reference {
            _ if insists => self.insist(limit),
            Reference::Found if self.exact || self.cases.iter().any(lacks) => self.look(limit),
            Reference::Found | Reference::Recorded | Reference::Torch => Ok(()),
            Reference::None => {
                self.cases.iter_mut().for_each(Case::forget);
                Ok(())
            }
        };
        self.cases.retain(|case| !case.trial || case.source == Source::Torch);
        match outcome {
            Ok(()) => Ok(None),
            Err(why) if insists => {
                let message = format!("PyTorch cannot compute the expected values: {why}");
                let help =
                    "without `--reference torch`, recorded values are compared, or types and shapes only";
                Err(Diagnostic::error(Code::VERIFY_REFERENCE, message).help(help))
            }
            Err(why) => {
                let message = format!("PyTorch was not run for expected values: {why}");
                let found = Diagnostic::error(Code::VERIFY_REFERENCE, message);
                let help = "`--reference torch` insists on it, `--reference recorded` does not look for it";
                Ok(Some(Diagnostic { severity: Severity::Note, ..found.help(help) }))
            }
        }
    }

    /// Asks PyTorch for the noise of the calls whose expected values [`refer`](Self::refer) found, within `limit`. Returns
    /// whether that of some value is known.
    pub fn measure_noise(&mut self, reference: Reference, limit: Option<Duration>) -> bool {
        if matches!(reference, Reference::Recorded | Reference::None) {
            return false;
        }
        self.exact = true;
        // Without the noise, the tolerance of the element types holds.
        let note = self.refer(reference, limit);
        matches!(note, Ok(None)) && self.knows_noise()
    }

    /// Asks a PyTorch that is there, if that is safe.
    fn look(&mut self, limit: Option<Duration>) -> Result<(), String> {
        let Some(path) = self.program.clone() else { return Ok(()) };
        let Some(python) = found() else { return Ok(()) };
        // One that holds the program already has its memory.
        if !self.ahead.as_ref().is_some_and(|ahead| ahead.holds(&path)) {
            memory::check(&path)?;
        }
        self.ask(&python, &path, false, limit)
    }

    fn insist(&mut self, limit: Option<Duration>) -> Result<(), String> {
        if let Some(program) = self.in_process.clone() {
            let mut answers = program.ask(self.request(None)?)?;
            return self.hear(&mut || answers.next().ok_or_else(|| "it is incomplete".to_owned()), true, "");
        }
        let path = self.program.clone().ok_or("the values do not belong to a program that it could load")?;
        self.ask(&interpreter::with(&["torch"])?, &path, true, limit)
    }

    fn ask(
        &mut self,
        python: &Python,
        path: &Path,
        trusted: bool,
        limit: Option<Duration>,
    ) -> Result<(), String> {
        let name = python.interpreter.display();
        let told = |why: String| format!("`{name}`: {why}");
        let limit = limit.unwrap_or(PATIENCE);
        let ahead = self.ahead.take();
        if let Some(started) = ahead.as_ref().and_then(|ahead| ahead.take(python, path, trusted)) {
            let was_asked = started.was_asked;
            match self.ask_process(started, path, trusted, limit, &name.to_string()) {
                Ok(started) => {
                    if let Some((ahead, started)) = ahead.zip(started) {
                        ahead.give_back(started);
                    }
                    return Ok(());
                }
                // It may have ended since it answered about another program.
                Err(_) if was_asked => {}
                Err(why) => return Err(told(why)),
            }
        }
        let started = Started::begin(python, path, trusted).map_err(told)?;
        self.ask_process(started, path, trusted, limit, &name.to_string()).map(drop).map_err(told)
    }

    /// Asks a process about the program at `path`. Returns it if it can be asked again.
    fn ask_process(
        &mut self,
        mut started: Started,
        path: &Path,
        trusted: bool,
        limit: Duration,
        name: &str,
    ) -> Result<Option<Started>, String> {
        let other = if started.path == path { None } else { Some(std::path::absolute(path)) };
        let other = other.transpose().map_err(|error| error.to_string())?;
        started.child.ask(self.request(other.as_deref())?, limit);
        path.clone_into(&mut started.path);
        let child = &mut started.child;
        self.hear(&mut || child.answer(), trusted, &format!(" ({name})"))?;
        // Answers in float64 may be left behind.
        Ok((!self.exact).then_some(started))
    }

    /// The request, for the `archive` unless it is the one that the process was started for.
    fn request(&self, archive: Option<&Path>) -> Result<Vec<u8>, String> {
        message::request(&self.cases.iter().collect::<Vec<_>>(), self.exact, archive)
    }

    /// Takes over the `messages` about the cases; `place` says where PyTorch is.
    fn hear(&mut self, messages: Messages<'_>, trusted: bool, place: &str) -> Result<(), String> {
        // If the user trusts the program, its own values count, otherwise recorded ones.
        let keeps = !trusted;
        let version = greeting(messages)?;
        let found = answers(messages, self.cases.len())?;
        let first = found.iter().zip(&self.cases).find(|(_, case)| !case.drawn && !self.made);
        if let Some((Err(why), case)) = first {
            return Err(format!("it does not run the case {}: {why}", case.name));
        }
        let wide = self.exact.then(|| answers(messages, self.cases.len()));
        for (number, (case, answer)) in self.cases.iter_mut().zip(found).enumerate() {
            let mut values = match answer {
                Ok(values) => values,
                Err(why) => {
                    case.forget();
                    case.refused = Some(why);
                    continue;
                }
            };
            // Not everything is there in float64; that is not a reason to drop the others.
            match wide.as_ref().map(|wide| wide.as_ref().map(|all| all.get(number))) {
                Some(Ok(Some(Ok(exact)))) => {
                    let elements = case.inputs.iter().filter_map(|(_, tensor)| tensor.elements()).sum();
                    values.floors = Some(Floors::between(&values, exact, elements));
                }
                Some(Ok(Some(Err(why))) | Err(why)) => case.inexact = Some(why.clone()),
                Some(Ok(None)) | None => {}
            }
            match &mut case.expected {
                Some(recorded) if keeps => recorded.floors = values.floors,
                _ => (case.expected, case.source) = (Some(values), Source::Torch),
            }
        }
        self.torch = Some(format!("PyTorch {version}{place}"));
        Ok(())
    }
}

/// The first active Python that has PyTorch.
fn found() -> Option<Python> {
    interpreter::active().into_iter().find(|python| python.package("torch").is_some())
}

impl Case {
    fn forget(&mut self) {
        (self.expected, self.source) = (None, Source::Nothing);
    }
}

/// Gives one message after the other.
type Messages<'a> = &'a mut dyn FnMut() -> Result<Vec<u8>, String>;

fn next(messages: Messages<'_>) -> Result<Answer, String> {
    message::read(messages()?).map_err(|why| format!("its answer is not one: {why}"))
}

/// The version of PyTorch.
fn greeting(messages: Messages<'_>) -> Result<String, String> {
    match next(messages)? {
        Answer::Greeting(version) => Ok(version),
        Answer::Error(why) => Err(why),
        _ => Err("it answers without a greeting".to_owned()),
    }
}

/// The answer to each of `count` cases: values, or why the program refuses it.
fn answers(messages: Messages<'_>, count: usize) -> Result<Vec<Result<Expected, String>>, String> {
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        let (number, answer) = match next(messages)? {
            Answer::Values(number, values) => (number, Ok(values)),
            Answer::Refused(number, why) => (number, Err(why)),
            Answer::Error(why) => return Err(why),
            Answer::Greeting(_) => return Err("it greets twice".to_owned()),
        };
        if number != all.len() {
            return Err(format!("it answered case {number} instead of case {}", all.len()));
        }
        all.push(answer);
    }
    Ok(all)
}
