//! `--profile`: a record of the work of a command, whose outcome says where it is.

use std::path::{Path, PathBuf};

use onnxport_core::Trace;
use onnxport_requests::profile::Profiling;

use crate::outcome::{CommandResult, Outcome};

/// Does the work of the command `name`, and writes what was recorded, however it ended. None of `others` is replaced
/// by that.
pub(crate) fn around(
    profiling: &Profiling,
    name: &'static str,
    others: &[PathBuf],
    work: impl FnOnce() -> CommandResult,
) -> CommandResult {
    around_in(profiling, profiling.trace().as_ref(), name, others, work)
}

/// [`around`] in a trace that may hold more already.
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
        Ok(()) => describe(profiling.profile.as_deref(), outcome),
    }
    result
}

/// Adds to `outcome` the file that was written.
pub(crate) fn describe(path: Option<&Path>, outcome: &mut Outcome) {
    if let Some(path) = path {
        outcome.put("profile", path.display().to_string());
    }
}
