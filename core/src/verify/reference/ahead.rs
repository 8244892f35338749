//! PyTorch, started before the requests are known: importing it and loading a program take seconds, in
//! which the program is converted. Several programs can share one process.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Reference, SCRIPT, memory};
use crate::interpreter::{self, Python};
use crate::verify::child::Child;
use crate::verify::expected::Against;

/// A process that loads a program, to be asked. It ends with the last clone of this.
#[derive(Clone)]
pub struct Ahead {
    pub(super) started: Arc<Mutex<Option<Started>>>,
    /// Whether other programs ask the process too.
    pub(super) is_shared: bool,
}

/// A process, and the program that it holds.
pub(super) struct Started {
    pub(super) child: Child,
    interpreter: PathBuf,
    pub(super) path: PathBuf,
    trusted: bool,
    /// Whether it was asked before, so that it may have ended since.
    pub(super) was_asked: bool,
}

impl Started {
    /// Starts `python` for the program at `path`.
    ///
    /// # Errors
    /// A sentence when no process can be started.
    pub(super) fn begin(python: &Python, path: &Path, trusted: bool) -> Result<Self, String> {
        let child = Child::begin(&python.interpreter, SCRIPT, path, trusted)?;
        let (interpreter, path) = (python.interpreter.clone(), path.to_owned());
        Ok(Self { child, interpreter, path, trusted, was_asked: false })
    }
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

    /// As [`start`](Self::start), but programs with the same `shared` ask one process, one after the other. The first of
    /// them starts it.
    pub fn share(path: &Path, reference: Reference, shared: &mut Option<Self>) -> Option<Self> {
        let is_asked = match reference {
            Reference::Torch => true,
            Reference::Found => !Against::sidecar_path(path).exists(),
            Reference::Recorded | Reference::None => false,
        };
        if !is_asked {
            return None;
        }
        if shared.is_none() {
            *shared = Self::start(path, reference).map(|ahead| Self { is_shared: true, ..ahead });
        }
        shared.clone()
    }

    /// Starts `python` for the program at `path`.
    ///
    /// # Errors
    /// A sentence when no process can be started.
    pub(super) fn of(python: &Python, path: &Path, trusted: bool) -> Result<Self, String> {
        let started = Started::begin(python, path, trusted)?;
        Ok(Self { started: Arc::new(Mutex::new(Some(started))), is_shared: false })
    }

    /// Whether the process holds the program at `path`.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let slot = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().is_some_and(|started| started.path == path)
    }

    /// The process, unless it was taken, is another one than `python`, or cannot take the program at `path`.
    pub(super) fn take(&self, python: &Python, path: &Path, trusted: bool) -> Option<Started> {
        let mut slot = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |started: &mut Started| {
            let takes = started.path == path || self.is_shared && path.to_str().is_some();
            started.interpreter == python.interpreter && started.trusted == trusted && takes
        };
        slot.take_if(fits)
    }

    /// Keeps the process, which has answered, for other programs. Without any, it ends.
    pub(super) fn give_back(&self, started: Started) {
        if self.is_shared && Arc::strong_count(&self.started) > 1 {
            let mut slot = self.started.lock().unwrap_or_else(PoisonError::into_inner);
            *slot = Some(Started { was_asked: true, ..started });
        }
    }
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead").finish_non_exhaustive()
    }
}
