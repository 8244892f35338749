//! Reads of mapped files that somebody truncated: the signal `SIGBUS`, and which file it was.
//!
//! A handler may neither lock nor allocate, so that the table has a fixed size and is atomic
//! throughout. Mappings beyond its size are not in it; a fault in them ends the process as it would
//! without the table.

use std::ffi::{CStr, CString};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// How many mappings are known at a time.
const SLOTS: usize = 256;

/// A mapping: `start..end` in memory. A slot with the start 0 is free, one with the start 1 is being
/// filled or emptied.
struct Slot {
    start: AtomicUsize,
    end: AtomicUsize,
    path: AtomicPtr<std::ffi::c_char>,
}

static TABLE: [Slot; SLOTS] = [const {
    Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), path: AtomicPtr::new(ptr::null_mut()) }
}; SLOTS];

const FREE: usize = 0;
const BUSY: usize = 1;

/// A mapping that is in the table while this lives, which must end before the mapping does.
#[derive(Debug)]
pub(super) struct Registration(Option<usize>);

impl Registration {
    /// Enters the mapping `bytes` of the file at `path`.
    pub(super) fn new(bytes: &[u8], path: &Path) -> Self {
        let Ok(path) = CString::new(path.as_os_str().as_encoded_bytes()) else { return Self(None) };
        let range = bytes.as_ptr_range();
        let claim = |slot: &&Slot| {
            slot.start.compare_exchange(FREE, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let Some(at) = TABLE.iter().position(|slot| claim(&slot)) else { return Self(None) };
        if let Some(slot) = TABLE.get(at) {
            slot.path.store(path.into_raw(), Ordering::Relaxed);
            slot.end.store(range.end as usize, Ordering::Relaxed);
            slot.start.store(range.start as usize, Ordering::Release);
        }
        Self(Some(at))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let Some(slot) = self.0.and_then(|at| TABLE.get(at)) else { return };
        slot.start.store(BUSY, Ordering::Release);
        let path = slot.path.swap(ptr::null_mut(), Ordering::AcqRel);
        if !path.is_null() {
            // SAFETY: the pointer comes from `CString::into_raw`, and the swap took the only copy. A
            // handler that still reads it would be handling a fault in this mapping, whose last owner
            // is this thread, which is here.
            drop(unsafe { CString::from_raw(path) });
        }
        slot.start.store(FREE, Ordering::Release);
    }
}

/// Calls `then` with the path of the file that is mapped at `address`, if one is. Only atomics are
/// read, so that a signal handler may call it: a program can say which file it was.
pub fn mapped_at<T>(address: usize, then: impl FnOnce(&CStr) -> T) -> Option<T> {
    let slot = TABLE.iter().find(|slot| {
        let start = slot.start.load(Ordering::Acquire);
        start > BUSY && start <= address && address < slot.end.load(Ordering::Relaxed)
    })?;
    let path = slot.path.load(Ordering::Relaxed);
    if path.is_null() {
        return None;
    }
    // SAFETY: the path of a filled slot is a C string. It lives as long as the mapping, which the
    // faulting read borrows.
    Some(then(unsafe { CStr::from_ptr(path) }))
}

#[cfg(test)]
mod tests {
    use super::super::MappedFile;
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri does not map files")]
    fn mappings_are_known_while_they_live() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, vec![1; 10_000]).unwrap();
        let file = MappedFile::open(&path).unwrap();
        let start = file.bytes().as_ptr() as usize;
        let found = |address| mapped_at(address, |found| found.to_str().unwrap() == path.to_str().unwrap());
        assert_eq!(found(start), Some(true));
        assert_eq!(found(start + 9_999), Some(true));
        // Other tests map files as well.
        assert_ne!(found(start - 1), Some(true));
        assert_ne!(found(start + 10_000), Some(true));
        assert_eq!(found(0), None);
        drop(file);
        assert_ne!(found(start), Some(true));
    }
}
