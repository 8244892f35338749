//! Drops the privileges of the superuser, except for opening files of other users.

use onnxport_core::diagnose::Diagnostic;
use rustix::io::Result;
use rustix::thread::{self, CapabilitySet, CapabilitySets};

use super::refused;

/// Drops every capability but those that make the files of others accessible, which Landlock restricts anyway. Others,
/// such as `CAP_PERFMON`, go around Landlock's protection of other processes.
///
/// # Errors
/// `OP007` if the kernel refuses.
pub(super) fn restrict() -> std::result::Result<(), Diagnostic> {
    drop_capabilities().map_err(|error| refused(format!("the privileges cannot be dropped: {error}")))
}

fn drop_capabilities() -> Result<()> {
    let kept = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    let CapabilitySets { effective, permitted, inheritable } = thread::capabilities(None)?;
    let sets = [effective, permitted, inheritable].map(|set| set & kept);
    let [effective, permitted, inheritable] = sets;
    thread::set_capabilities(None, CapabilitySets { effective, permitted, inheritable })
}
