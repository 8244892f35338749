//! One run at a time gives files their names.
//!
//! The lock is on the folder itself: it leaves no file behind, and the system drops it with the
//! process that held it, however that ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long another run may take to rename its files.
const PATIENCE: Duration = Duration::from_mins(1);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// Locks `folder` until the result is dropped; `None` where folders cannot be locked.
///
/// # Errors
/// `TimedOut` when somebody else keeps the lock.
pub(in crate::write) fn folder(folder: &Path) -> io::Result<Option<File>> {
    let Ok(file) = File::open(folder) else { return Ok(None) };
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::TimedOut.into()),
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
}
