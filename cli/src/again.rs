//! Restarts this program for work in a separate process.

use std::ffi::OsString;
use std::process::Command;
use std::sync::OnceLock;

use onnxport_core::diagnose::{Code, Diagnostic};

use crate::ending;

static STARTED_BY: OnceLock<Vec<OsString>> = OnceLock::new();

/// Sets how to start the command if it is not a separate program: a program and its first arguments, such as
/// `python -m onnxport`. Only the first call in a process has an effect.
pub fn started_by(words: Vec<OsString>) {
    let _ = STARTED_BY.set(words);
}

/// Returns a process builder that starts the command.
///
/// # Errors
/// `OP001` if this is part of a program that did not call [`started_by`]; `code` if its own file is not
/// found.
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
