//! The threads that share work, or none if the system starts none.

use std::error::Error;
use std::sync::LazyLock;

use rayon::ThreadPoolBuilder;

use crate::trace;

/// Whether there is a pool. Asked before it is used: one that cannot be started is a panic by then.
static POOL: LazyLock<bool> = LazyLock::new(|| match ThreadPoolBuilder::new().build_global() {
    Ok(()) => true,
    // Without a source the program that uses this library has made the pool before.
    Err(error) => error.source().is_none(),
});

/// How many threads work at a time: 1 without a pool.
pub(crate) fn count() -> usize {
    if *POOL { rayon::current_num_threads().max(1) } else { 1 }
}

/// Does both, side by side where there is a pool.
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if *POOL { rayon::join(trace::along(a), trace::along(b)) } else { (a(), b()) }
}
