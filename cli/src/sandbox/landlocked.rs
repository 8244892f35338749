//! Restricts the process's access to files and to the network with Landlock.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};
use onnxport_core::diagnose::Diagnostic;

use super::access::Access;
use super::refused;

/// The oldest version that is accepted, of Linux 6.2: the first that keeps files from being truncated.
const OLDEST: ABI = ABI::V3;

/// The newest version whose restrictions are used where the kernel has them, of Linux 6.12: devices, TCP, signals and
/// abstract sockets.
const NEWEST: ABI = ABI::V6;

/// Checks that this is the only thread: others would stay unrestricted.
///
/// # Errors
/// `OP007` if there are others.
pub(super) fn is_alone() -> Result<(), Diagnostic> {
    match std::fs::read_dir("/proc/self/task").map(Iterator::count) {
        Ok(1) => Ok(()),
        Ok(count) => Err(refused(format!("the process already has {count} threads"))),
        Err(error) => Err(refused(format!("/proc/self/task: {error}"))),
    }
}

/// Restricts this thread, and all threads and processes that it starts, to `access` and the temporary folder `scratch`.
///
/// # Errors
/// `OP007` if the kernel lacks Landlock or has an older version.
pub(super) fn restrict(access: &Access, scratch: &Path) -> Result<(), Diagnostic> {
    apply(access, scratch).map_err(|error| {
        refused(error.to_string())
            .help("it needs Linux 6.2 or newer with Landlock enabled (`lsm=landlock,…`)")
    })
}

fn apply(access: &Access, scratch: &Path) -> Result<(), RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let execute = read | AccessFs::Execute;
    // Devices, sockets and pipes are not created.
    let special = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock | AccessFs::MakeFifo;
    let write: BitFlags<AccessFs> = (AccessFs::from_write(OLDEST) | read) & !special;
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(OLDEST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(&access.read, read))?
        .add_rules(path_beneath_rules(&access.execute, execute))?
        .add_rules(path_beneath_rules(access.write.iter().map(AsRef::as_ref).chain([scratch]), write))?
        // For the removal of the temporary folder itself: no other right, and only of empty folders.
        .add_rules(path_beneath_rules(scratch.parent(), AccessFs::RemoveDir))?
        .restrict_self()
        .map(drop)
}
