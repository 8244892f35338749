//! `--profile`: records the work of a command; the outcome names the file.

use std::path::PathBuf;

use onnxport_core::Trace;
use onnxport_requests::profiling::Profiling;

use crate::outcome::{CommandResult, Outcome};

/// Runs `work` for the command `name`, and writes the recorded trace, even after a failure. The trace never replaces
/// one of `others`.
pub(crate) fn around(
    profiling: &Profiling,
    name: &'static str,
    others: &[PathBuf],
    work: impl FnOnce() -> CommandResult,
) -> CommandResult {
    around_in(profiling, profiling.trace().as_ref(), name, others, work)
}

/// [`around`] in a trace that may already have contents.
pub(crate) fn around_in(
    profiling: &Profiling,
    trace: Option<&Trace>,
    name: &'static str,
    others: &[PathBuf],
    work: impl FnOnce() -> CommandResult,
) -> CommandResult {
    let (mut result, recorded) = profiling.around(trace, name, others, work);
    let (Ok(outcome) | Err(outcome)) = &mut result;
    match recorded {
        Err(report) => outcome.add(Outcome::failed(report)),
        Ok(()) => {
            if let Some(path) = &profiling.profile {
                outcome.put("profile", path.display().to_string());
            }
        }
    }
    result
}
