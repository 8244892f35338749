//! Whether PyTorch may load a program without being asked to.

use std::fs;
use std::path::Path;

/// The memory that PyTorch takes besides weights: its libraries and intermediate values.
const PYTORCH: u64 = 1 << 30;
/// How often it may hold the weights for a moment: as it reads them, as they are, and as results.
const COPIES: u64 = 3;

/// Whether there is memory to load the archive at `path`.
///
/// # Errors
/// A sentence where there may be too little.
pub(super) fn check(path: &Path) -> Result<(), String> {
    let size = fs::metadata(path).map_err(|error| format!("the program is gone: {error}"))?.len();
    let wanted = size.saturating_mul(COPIES).saturating_add(PYTORCH);
    match available() {
        Some(left) if left < wanted => {
            let [wanted, left] = [wanted, left].map(|bytes| bytes >> 20);
            Err(format!("it may take {wanted} MiB of memory, of which {left} MiB are left"))
        }
        _ => Ok(()),
    }
}

/// The bytes of memory that are left, where the system says it.
fn available() -> Option<u64> {
    let system = kib(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?;
    let number =
        |file: &str| fs::read_to_string(Path::new("/sys/fs/cgroup").join(file)).ok()?.trim().parse().ok();
    let group = number("memory.max")
        .zip(number("memory.current"))
        .map(|(most, now): (u64, u64)| most.saturating_sub(now));
    Some(group.map_or(system, |group| group.min(system)))
}

fn kib(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_own_words_are_understood() {
        let text = "MemTotal:       16 kB\nMemFree:  1 kB\nMemAvailable:     12 kB\n";
        assert_eq!(kib(text, "MemAvailable:"), Some(12 << 10));
        assert_eq!(kib("MemAvailable: many kB", "MemAvailable:"), None);
    }

    #[test]
    fn a_program_larger_than_memory_is_not_loaded_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.pt2");
        let file = fs::File::create(&path).unwrap();
        file.set_len(1 << 42).unwrap();
        if available().is_some() {
            assert!(check(&path).unwrap_err().contains("MiB are left"));
        }
        assert!(check(&folder.path().join("gone.pt2")).is_err());
    }
}
