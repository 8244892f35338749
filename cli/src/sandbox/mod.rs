//! `--sandbox`: confines the process before it reads a file that may be hostile.
//!
//! The command may read its inputs, the system's libraries and the active Python, and write into the folders of its outputs
//! and into a temporary folder of its own. It has no network, cannot inspect other processes, and cannot change the
//! permissions or owners of files. Processes that it starts inherit all of this, and nothing can lift it.
//!
//! Landlock restricts the files, seccomp the system calls: both by Linux, without privileges.

#[cfg(target_os = "linux")]
mod access;
#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod landlocked;
#[cfg(target_os = "linux")]
mod syscalls;

use std::ffi::OsString;

use onnxport_core::diagnose::{Code, Diagnostic};

#[cfg(target_os = "linux")]
use crate::scratch;

/// Confines this process to the paths of the command line `arguments`, the name of the program first.
///
/// # Errors
/// `OP007` if this system cannot confine it, or if an output's folder is one that holds everything.
#[cfg(target_os = "linux")]
pub(crate) fn enter(arguments: &[OsString]) -> Result<(), Diagnostic> {
    let access = access::Access::of_command_line(arguments)?;
    landlocked::is_alone()?;
    let temporary = |error: std::io::Error| refused(format!("{}: {error}", std::env::temp_dir().display()));
    let scratch = scratch::create().map_err(temporary)?;
    let confined = landlocked::restrict(&access, scratch)
        .and_then(|()| capabilities::restrict())
        .and_then(|()| syscalls::restrict());
    confined.inspect_err(|_| scratch::remove())
}

/// Confines this process.
///
/// # Errors
/// `OP007`: this system has neither Landlock nor seccomp.
#[cfg(not(target_os = "linux"))]
pub(crate) fn enter(_arguments: &[OsString]) -> Result<(), Diagnostic> {
    Err(refused("it needs Linux".to_owned()).help("run onnxport in a container or a virtual machine instead"))
}

/// Returns the refusal of a process that is not confined.
fn refused(reason: String) -> Diagnostic {
    Diagnostic::error(Code::SANDBOX, format!("the sandbox cannot be set up: {reason}"))
}

/// Returns the refusal of `--sandbox` inside another program.
pub(crate) fn embedded() -> Diagnostic {
    Diagnostic::error(Code::SANDBOX, "the sandbox would confine the whole program that calls onnxport")
        .help("run the command: `onnxport convert … --sandbox`")
}
