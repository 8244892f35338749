//! Resource limits for the process of a probe.

/// The address space of a probe. A library that allocates without end fails in its own process.
#[cfg(target_os = "linux")]
const MEMORY: u64 = 8 << 30;

/// Limits the memory of this process, and leaves no image of it when it crashes.
#[cfg(target_os = "linux")]
pub(super) fn set() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    for (resource, limit) in [(Resource::As, MEMORY), (Resource::Core, 0)] {
        // A stricter limit may be in force already.
        let _ = setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) });
    }
}

/// Other systems have limits of other kinds; the time limit holds there too.
#[cfg(not(target_os = "linux"))]
pub(super) fn set() {}
