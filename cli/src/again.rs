//! This program, started once more for work in a process of its own.

use std::ffi::OsString;
use std::process::Command;
use std::sync::OnceLock;

use onnxport_core::diagnose::{Code, Diagnostic};

use crate::ending;

static STARTED_BY: OnceLock<Vec<OsString>> = OnceLock::new();

/// Says what starts the command where it is not a program of its own: a program and its first arguments, such as
/// `python -m onnxport`. The first word counts that is said in a process.
pub fn started_by(words: Vec<OsString>) {
    let _ = STARTED_BY.set(words);
}

/// What starts the command.
///
/// # Errors
/// `OP001` where this is part of a program that did not say how; `code` where its own file is not found.
pub(crate) fn command(code: Code) -> Result<Command, Diagnostic> {
    if let Some((program, arguments)) = STARTED_BY.get().and_then(|words| words.split_first()) {
        let mut command = Command::new(program);
        command.args(arguments);
        return Ok(command);
    }
    if !ending::is_ours() {
        let message = "this process is another program's, which cannot be started once more";
        return Err(Diagnostic::error(Code::USAGE, message));
    }
    let program = std::env::current_exe();
    program
        .map(Command::new)
        .map_err(|error| Diagnostic::error(code, format!("this program cannot be found again: {error}")))
}
