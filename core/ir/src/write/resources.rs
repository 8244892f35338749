//! The resources of the machine: free disk space, and the memory that the process uses already.

use std::path::Path;

/// The bytes that this process may still write to the file system of `folder`; `None` where that
/// cannot be known.
pub(super) fn free_space(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let space = rustix::fs::statvfs(folder).ok()?;
        // Without the blocks that are kept for the administrator.
        space.f_bavail.checked_mul(space.f_frsize)
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}

/// Returns the anonymous memory of this process in bytes, which the system cannot reclaim without swapping. Pages
/// of mapped files are not included.
pub(super) fn anonymous_memory() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    }
    #[cfg(not(target_os = "linux"))]
    None
}
