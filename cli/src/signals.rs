//! Ending on request: Ctrl-C, SIGTERM, SIGHUP.

#[cfg(unix)]
pub(crate) use unix::handle;

/// On this system a process is ended from outside without a signal.
#[cfg(not(unix))]
pub(crate) fn handle() {}

#[cfg(unix)]
mod unix {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use onnxport_core::diagnose::{Code, Diagnostic};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;

    use crate::ending;
    use crate::exit::Exit;
    use crate::outcome::Outcome;

    /// Returns the ignored signals, as set by `nohup` or a shell that put the process into the background:
    /// a mask in Linux's format, bit 0 for signal 1.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }

    /// From now on these signals end the command with a message, and nothing half-written remains. A file
    /// beyond its size limit is an error, not the end.
    pub(crate) fn handle() {
        // Without a handler the default action applies: the process ends.
        let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
        let ignored = ignored();
        let handled = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let Ok(mut signals) = Signals::new(handled) else { return };
        let wait = move || {
            let Some(signal) = signals.forever().next() else { return };
            let (exit, what) = match signal {
                SIGHUP => (Exit::HangUp, "ended: the terminal is gone"),
                SIGINT => (Exit::Interrupted, "interrupted"),
                _ => (Exit::Terminated, "ended on request"),
            };
            let mut outcome = Outcome::from(Diagnostic::error(Code::INTERRUPTED, what));
            outcome.exit = exit;
            ending::end(&outcome);
        };
        // Without the thread the signals would be lost; the handlers go with `signals`, which is
        // dropped with the closure.
        let _ = thread::Builder::new().name("signals".to_owned()).spawn(wait);
    }
}
