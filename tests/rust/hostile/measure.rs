//! Measures the time and the memory of a piece of work.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use cpu_time::ThreadTime;

/// Of CPU time, which a busy machine does not change. Generous, for unoptimised builds; quadratic work is
/// far beyond it.
const LIMIT: Duration = Duration::from_secs(10);

thread_local! {
    static CURRENT: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Counts what each thread allocates: tests run in parallel, and reading runs on one thread.
struct Counting;

fn count(change: isize) {
    // The counters are gone while a thread ends.
    let _ = CURRENT.try_with(|current| {
        current.set(current.get() + change);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(current.get())));
    });
}

// SAFETY: every call is passed on to the system's allocator unchanged; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's own promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's own promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Runs `work` and returns its result with the bytes by which its memory grew at most.
pub(crate) fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = CURRENT.get();
    PEAK.set(before);
    let start = ThreadTime::now();
    let result = work();
    let took = start.elapsed();
    assert!(took < LIMIT, "took {took:?}");
    (result, (PEAK.get() - before) as usize)
}
