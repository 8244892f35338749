//! The caller of a command: it sees the progress, can end the work, and owns the process.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use onnxport_check::Probe;
use onnxport_core::bisect::modules::{Caller, Tell};
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::write;

/// Creates the command of a process that calls [`onnxport_core::verify::serve`].
pub type Restart = fn() -> Result<Command, Diagnostic>;

/// Creates the command of a process that calls [`onnxport_check::probe`].
pub type StartProbe = Box<dyn Fn(&Probe) -> Command>;

/// A caller that observes a command. The defaults are those of a caller that shows nothing, never cancels the work, and
/// whose process must neither end nor start again; `()` is one.
pub trait Progress {
    /// A stage begins, such as `reading the model`.
    fn stage(&mut self, _stage: &str) {}

    /// Fails if the caller cancels the work.
    ///
    /// # Errors
    /// `OP617`, or the caller's own.
    fn go_on(&mut self) -> Result<(), Diagnostic> {
        Ok(())
    }

    /// Begins a stage that counts bytes. The function receives the bytes done and the bytes in all, and returns
    /// whether to go on.
    fn bytes(&mut self, _stage: &str) -> Option<write::Progress> {
        None
    }

    /// Returns a function that receives each step of the Python package, on any thread, and returns whether to go on.
    fn steps(&mut self) -> Tell {
        Arc::new(|_| true)
    }

    /// Returns the function that calls the Python package within this process, if the process is a Python.
    fn python(&self) -> Option<Caller> {
        None
    }

    /// Sets a time limit for a runtime, which cannot be stopped: the process ends if it takes longer than
    /// `limit`.
    ///
    /// # Errors
    /// `OP001` if the process must not end.
    fn deadline(
        &mut self,
        limit: Option<Duration>,
        _executor: &str,
        _doing: &str,
    ) -> Result<Box<dyn Deadline>, Diagnostic> {
        if limit.is_none() {
            return Ok(Box::new(()));
        }
        let message = "a time limit is not supported here: the runtime cannot be stopped without ending the calling program";
        Err(Diagnostic::error(Code::USAGE, message).help("leave out the time limit"))
    }

    /// Returns the function that creates the command of a process for an isolated runtime.
    fn restart(&self) -> Restart {
        || Err(not_ours())
    }

    /// Returns the function that creates the command of a process for a step of checking a plugin.
    ///
    /// # Errors
    /// `OP001` if the process cannot be started once more.
    fn probe(&self) -> Result<StartProbe, Diagnostic> {
        Err(not_ours())
    }
}

/// The error of a caller whose process is another program's.
fn not_ours() -> Diagnostic {
    let message = "this process is another program's, which cannot be started once more";
    Diagnostic::error(Code::USAGE, message)
}

/// A time limit in effect until this is dropped.
pub trait Deadline {
    /// Sets the current step, for the message after a timeout.
    fn doing(&self, step: String);
}

impl Progress for () {}

impl Deadline for () {
    fn doing(&self, _step: String) {}
}
