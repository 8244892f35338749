//! Work on several threads at once.

use std::io;
use std::thread::{self, Builder, ScopedJoinHandle};

/// The results of `work` on `count` threads, all started before the first is joined.
///
/// # Errors
/// When the system does not start one of them.
pub(crate) fn at_once<T: Send>(
    count: usize,
    work: impl Fn() -> T + Sync,
) -> Result<Vec<thread::Result<T>>, String> {
    let made: Vec<io::Result<thread::Result<T>>> = thread::scope(|scope| {
        let started: Vec<_> = (0..count).map(|_| Builder::new().spawn_scoped(scope, &work)).collect();
        // All are waited for, whether or not others could be started.
        started.into_iter().map(|thread| thread.map(ScopedJoinHandle::join)).collect()
    });
    let made: io::Result<Vec<_>> = made.into_iter().collect();
    made.map_err(|error| format!("a thread cannot be started: {error}"))
}
