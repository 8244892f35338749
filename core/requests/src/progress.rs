//! The caller of a command: it sees the progress, can end the work, and owns the process.

use std::process::Command;
use std::time::Duration;

use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::write;

/// Makes the command of a process that calls [`onnxport_core::verify::serve`].
pub type Restart = fn() -> Result<Command, Diagnostic>;

/// A caller that watches a command. The defaults are those of a caller that shows nothing, never ends the work early, and
/// whose process must neither end nor start again; `()` is one.
pub trait Progress {
    /// A stage begins, such as `reading the model`.
    fn stage(&mut self, _stage: &str) {}

    /// Fails when the caller wants the work to end.
    ///
    /// # Errors
    /// `OP617`, or the caller's own.
    fn go_on(&mut self) -> Result<(), Diagnostic> {
        Ok(())
    }

    /// A stage begins whose bytes are counted. The function is told bytes done and bytes in all, and says whether to go on.
    fn bytes(&mut self, _stage: &str) -> Option<write::Progress> {
        None
    }

    /// Watches a runtime, which cannot be stopped: the process ends when it takes longer than `limit`.
    ///
    /// # Errors
    /// `OP001` where the process must not end.
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

    /// Makes the command of a process for a runtime that is isolated.
    fn restart(&self) -> Restart {
        || {
            let message = "this process is another program's, which cannot be started once more";
            Err(Diagnostic::error(Code::USAGE, message))
        }
    }
}

/// A time limit that holds until this is dropped.
pub trait Deadline {
    /// Names the current step, for the message of a limit that is over.
    fn doing(&self, step: String);
}

impl Progress for () {}

impl Deadline for () {
    fn doing(&self, _step: String) {}
}
