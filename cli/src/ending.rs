//! The end of the process, asked for by a thread that does not do the work: a signal, a time limit.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use onnxport_core::write::interrupt;

use crate::crash;
use crate::global::Global;
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::render;

/// How long printing may take once somebody wants the end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether somebody has the last word: the command, which is done, or who came before. Only who has it
/// prints.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// What was started.
struct Command {
    name: &'static str,
    global: Global,
    progress: Progress,
}

static COMMAND: OnceLock<Command> = OnceLock::new();

fn take_last_word() -> bool {
    !TAKEN.swap(true, Ordering::AcqRel)
}

/// Says which command runs. To be called once, before anybody can ask for the end.
pub(crate) fn prepare(name: &'static str, global: Global, progress: &Progress) {
    let _ = COMMAND.set(Command { name, global, progress: progress.clone() });
}

/// Whether the process is the command's, and may end.
pub(crate) fn is_ours() -> bool {
    COMMAND.get().is_some()
}

/// Says that the command is done. Does not return when somebody else is ending the process already.
pub(crate) fn done() {
    while !take_last_word() {
        thread::park();
    }
}

/// Ends the process with `outcome`; nothing half-written remains.
pub(crate) fn end(outcome: &Outcome) -> ! {
    let _stopped = interrupt::stop();
    if !take_last_word() {
        // The command is printing what it did, to somebody who may not read it.
        thread::sleep(PATIENCE);
    } else if let Some(Command { name, global, progress }) = COMMAND.get() {
        progress.clear();
        // Whoever ends us need not listen.
        let _ = render::print(name, outcome, *global);
    }
    crash::done();
    std::process::exit(outcome.exit as i32);
}
