//! PyTorch that is started before it is known what it will be asked: importing it and loading a program take seconds, in
//! which the program is converted.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Reference, SCRIPT, memory};
use crate::interpreter::{self, Python};
use crate::verify::child::Child;
use crate::verify::expected::Against;

/// A process that loads a program, to be asked once. It ends with the last clone of this.
#[derive(Clone)]
pub struct Ahead(Arc<Mutex<Option<Started>>>);

struct Started {
    child: Child,
    interpreter: PathBuf,
    path: PathBuf,
    trusted: bool,
}

impl Ahead {
    /// Starts PyTorch for the program at `path` where `reference` will ask it. `None` where it will not be asked, and where
    /// it cannot be started: the reason is found again by whoever asks.
    pub fn start(path: &Path, reference: Reference) -> Option<Self> {
        let (python, trusted) = match reference {
            Reference::Torch => (interpreter::with(&["torch"]).ok()?, true),
            Reference::Found if !Against::sidecar_path(path).exists() => {
                memory::check(path).ok()?;
                (super::found()?, false)
            }
            Reference::Found | Reference::Recorded | Reference::None => return None,
        };
        Self::of(&python, path, trusted).ok()
    }

    /// Starts `python` for the program at `path`.
    ///
    /// # Errors
    /// A sentence when no process can be started.
    pub(super) fn of(python: &Python, path: &Path, trusted: bool) -> Result<Self, String> {
        let child = Child::begin(&python.interpreter, SCRIPT, path, trusted)?;
        let (interpreter, path) = (python.interpreter.clone(), path.to_owned());
        Ok(Self(Arc::new(Mutex::new(Some(Started { child, interpreter, path, trusted })))))
    }

    /// The process, unless it was taken or is another one than `python` with the program at `path`.
    pub(super) fn take(&self, python: &Python, path: &Path, trusted: bool) -> Option<Child> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |started: &mut Started| {
            started.interpreter == python.interpreter && started.path == path && started.trusted == trusted
        };
        slot.take_if(fits).map(|started| started.child)
    }
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead").finish_non_exhaustive()
    }
}
