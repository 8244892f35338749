//! The anonymous memory of the process: all but the pages of mapped files, which the system can reclaim at any
//! time.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::Trace;

/// The time between two looks.
const STEP: Duration = Duration::from_millis(5);

/// Samples between stages are written if they differ by at least this much.
const STEP_BYTES: u64 = 1 << 20;

/// The anonymous memory of this process in bytes: `RssAnon` of `/proc/self/status`. `None` where the system does not say.
pub fn anonymous() -> Option<u64> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Looks again and again, on a thread of its own, while somebody else holds the trace.
pub(super) fn watch(trace: &Trace) {
    if trace.look(true).is_none() {
        return;
    }
    let weak = Arc::downgrade(&trace.recording);
    let look = move || {
        let mut written = 0;
        while let Some(recording) = weak.upgrade() {
            let trace = Trace { recording };
            if let Some(bytes) = trace.look(false).filter(|bytes| bytes.abs_diff(written) >= STEP_BYTES) {
                written = bytes;
                trace.look(true);
            }
            drop(trace);
            thread::sleep(STEP);
        }
    };
    // Without a thread the peaks of stages are those of their ends.
    let _ = thread::Builder::new().name("memory".to_owned()).spawn(look);
}
