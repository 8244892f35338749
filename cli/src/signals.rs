//! Ending on request: Ctrl-C, SIGTERM, SIGHUP.

use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
pub(crate) use unix::handle;

/// Whether somebody has the last word: the command, which is done, or a signal that came before.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Takes the last word; false when it is taken. Only who has it prints.
fn take_last_word() -> bool {
    !ENDING.swap(true, Ordering::AcqRel)
}

/// Says that the command is done. Does not return when a signal is ending the process already.
pub(crate) fn done() {
    while !take_last_word() {
        std::thread::park();
    }
}

/// On this system a process is ended from outside without being asked.
#[cfg(not(unix))]
pub(crate) fn handle(
    _name: &'static str,
    _global: crate::args::Global,
    _progress: &crate::progress::Progress,
) {
}

#[cfg(unix)]
mod unix {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::thread;
    use std::time::Duration;

    use onnxport_core::diagnose::{Code, Diagnostic};
    use onnxport_core::write::interrupt;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;

    use crate::args::Global;
    use crate::exit::Exit;
    use crate::outcome::Outcome;
    use crate::progress::Progress;
    use crate::render;

    /// How long printing may take once a signal came.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// The signals that the process was told to ignore, by `nohup` or a shell that put it into the
    /// background: a mask as Linux states it, bit 0 for signal 1.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }

    /// From now on these signals end the command called `name` with a message, and nothing
    /// half-written remains. A file beyond its size limit is an error, not the end.
    pub(crate) fn handle(name: &'static str, global: Global, progress: &Progress) {
        // Without a handler the system does what it always did: the process ends.
        let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
        let ignored = ignored();
        let handled = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let Ok(mut signals) = Signals::new(handled) else { return };
        let progress = progress.clone();
        let wait = move || {
            let Some(signal) = signals.forever().next() else { return };
            let _stopped = interrupt::stop();
            let (exit, what) = match signal {
                SIGHUP => (Exit::HangUp, "ended: the terminal is gone"),
                SIGINT => (Exit::Interrupted, "interrupted"),
                _ => (Exit::Terminated, "ended on request"),
            };
            if !super::take_last_word() {
                // The command is printing what it did, to somebody who may not read it.
                thread::sleep(PATIENCE);
                std::process::exit(exit as i32);
            }
            progress.clear();
            let mut outcome = Outcome::from(Diagnostic::error(Code::INTERRUPTED, what));
            outcome.exit = exit;
            // Whoever ends us need not listen.
            let _ = render::print(name, &outcome, global);
            std::process::exit(exit as i32);
        };
        // Without the thread the signals would be lost; the handlers go with `signals`, which is
        // dropped with the closure.
        let _ = thread::Builder::new().name("signals".to_owned()).spawn(wait);
    }
}
