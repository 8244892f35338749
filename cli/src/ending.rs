//! Ends the process at the request of a thread that does not do the work: a signal, a time limit.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use onnxport_core::write::interrupt;

use crate::exit::Exit;
use crate::global::Global;
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::{render, scratch};

/// The time limit for printing once the end was requested.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether the last word is taken: by the command, which is done, or by an earlier request.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The running command.
struct Command {
    name: &'static str,
    global: Global,
    progress: Progress,
}

static COMMAND: OnceLock<Command> = OnceLock::new();

/// Takes the last word: only its owner prints. Async-signal-safe.
pub(crate) fn take_last_word() -> bool {
    !TAKEN.swap(true, Ordering::AcqRel)
}

/// Sets the running command. Must be called once, before anything can request the end.
pub(crate) fn prepare(name: &'static str, global: Global, progress: &Progress) {
    let _ = COMMAND.set(Command { name, global, progress: progress.clone() });
}

/// Whether the process is the command's, and may end.
pub(crate) fn is_ours() -> bool {
    COMMAND.get().is_some()
}

/// Marks the command as done. Does not return if the process is already being ended elsewhere.
pub(crate) fn done() {
    while !take_last_word() {
        thread::park();
    }
}

/// Ends the process with `outcome`; nothing half-written remains.
pub(crate) fn end(outcome: &Outcome) -> ! {
    let _stopped = interrupt::stop();
    if !take_last_word() {
        // The command is printing its result, possibly to a blocked reader.
        thread::sleep(PATIENCE);
    } else if let Some(Command { name, global, progress }) = COMMAND.get() {
        progress.clear();
        // The process that ends us may not read it.
        let _ = render::print(name, outcome, *global);
    }
    scratch::remove();
    leave(outcome.exit)
}

/// Ends the process at once, after all output was flushed: exit handlers and the destructors of libraries do not run. A
/// thread may still be inside of ONNX Runtime or a plugin, and would crash without the globals that these destroy.
pub(crate) fn leave(exit: Exit) -> ! {
    #[cfg(unix)]
    // SAFETY: ends the process without running anything.
    unsafe {
        libc::_exit(exit as i32)
    }
    #[cfg(not(unix))]
    std::process::exit(exit as i32)
}
