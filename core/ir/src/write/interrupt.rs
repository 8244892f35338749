//! Ending a run early without leaving anything behind.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fs, io, thread};

/// Hidden files and folders that have a name and must not outlive the process.
static WATCHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Held while the files of an output change their names.
static PUBLISHING: Mutex<()> = Mutex::new(());

/// Waits until no output is being published, keeps the next one from being so, and removes the
/// temporary files. To be called right before the process ends because of a signal, from a thread of
/// its own; afterwards an output is the old one or the new one.
pub fn stop() -> Stopped {
    let guard = publishing();
    for path in watched().drain(..) {
        remove(&path);
    }
    Stopped { _guard: guard }
}

/// How often a folder is emptied into which others still write.
const ATTEMPTS: u32 = 200;

fn remove(path: &Path) {
    for _ in 0..ATTEMPTS {
        // It may have been given its final name a moment ago.
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        if removed.is_ok() || !path.is_dir() {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn watched() -> MutexGuard<'static, Vec<PathBuf>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
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
        watched().push(path.to_owned());
        Self(path.to_owned())
    }

    /// Watches the file that `make` creates from the moment at which it exists.
    ///
    /// # Errors
    /// Those of `make`.
    pub(super) fn made(make: impl FnOnce() -> io::Result<PathBuf>) -> io::Result<(PathBuf, Self)> {
        let mut watched = watched();
        let path = make()?;
        watched.push(path.clone());
        Ok((path.clone(), Self(path)))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        watched().retain(|path| *path != self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_folder_goes_although_somebody_writes_into_it() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("hidden");
        fs::create_dir(&folder).unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0.. {
                    if done.load(Ordering::Relaxed) || fs::write(folder.join(format!("{n}")), "x").is_err() {
                        return;
                    }
                }
            });
            thread::sleep(Duration::from_millis(20));
            remove(&folder);
            done.store(true, Ordering::Relaxed);
        });
        assert!(!folder.exists());
    }
}
