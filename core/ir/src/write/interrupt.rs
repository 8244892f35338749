//! Ending a run early without leaving anything behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Hidden files and folders that have a name and must not outlive the process.
static WATCHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Held while the files of an output change their names.
static PUBLISHING: Mutex<()> = Mutex::new(());

/// Waits until no output is being published, keeps the next one from being so, and removes the
/// temporary files. To be called right before the process ends because of a signal, from a thread of
/// its own; afterwards an output is the old one or the new one.
pub fn stop() -> Stopped {
    let guard = publishing();
    for path in WATCHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // It may have been given its final name a moment ago.
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
    Stopped { _guard: guard }
}

/// No output is published while this lives.
#[derive(Debug)]
pub struct Stopped {
    _guard: Publishing,
}

/// No other output is published and no signal ends the process while this lives.
#[derive(Debug)]
pub(super) struct Publishing(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

/// Waits until nothing else is being published.
pub(super) fn publishing() -> Publishing {
    Publishing(PUBLISHING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A file or folder that [`stop`] removes.
#[derive(Debug)]
pub(super) struct Watch(PathBuf);

impl Watch {
    pub(super) fn new(path: &Path) -> Self {
        WATCHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
    }
}
