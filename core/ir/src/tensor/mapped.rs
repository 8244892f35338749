//! Files mapped into memory, read-only.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use memmap2::Mmap;

use super::fault;
use crate::files;

/// A read-only mapping that remembers its path; clones share the mapping.
#[derive(Clone, Debug)]
pub struct MappedFile {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    file: File,
    /// The length and the time of the last change, as they were before the mapping.
    state: (u64, Option<SystemTime>),
    // Before the mapping, which it describes: fields are dropped in order.
    _known: fault::Registration,
    map: Mmap,
    /// By the first byte of their ranges.
    checksums: Mutex<BTreeMap<u64, Checksum>>,
}

/// The checksum that a file records for a range of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// The name of the range in the file.
    pub name: String,
    /// The bytes.
    pub range: Range<u64>,
    /// Their CRC-32.
    pub crc: u32,
}

impl MappedFile {
    /// Maps the whole file at `path`.
    ///
    /// # Errors
    /// Any error of opening or mapping the file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = files::open(path)?;
        let state = state(&file)?;
        // SAFETY: the mapping is private to this process and read-only. A writer that truncates the
        // file underneath makes a later read fault; `fault` tells the handler of that signal which
        // file it was.
        let map = unsafe { Mmap::map(&file)? };
        let known = fault::Registration::new(&map, path);
        Ok(Self {
            inner: Arc::new(Inner {
                path: path.to_owned(),
                file,
                state,
                _known: known,
                map,
                checksums: Mutex::default(),
            }),
        })
    }

    /// Whether the file has been written to since it was opened, or cannot be examined any more.
    pub fn changed(&self) -> bool {
        state(&self.inner.file).map_or(true, |state| state != self.inner.state)
    }

    /// The path that was opened.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The open file, for copies made by the kernel.
    pub fn file(&self) -> &File {
        &self.inner.file
    }

    /// The mapped bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.inner.map
    }

    /// Notes checksums that the file states. Ranges may lie inside of others.
    pub fn state_checksums(&self, checksums: impl IntoIterator<Item = Checksum>) {
        self.checksums().extend(checksums.into_iter().map(|sum| (sum.range.start, sum)));
    }

    /// The checksums of the ranges that `range` reaches into.
    pub fn checksums_over(&self, range: Range<u64>) -> Vec<Checksum> {
        let known = self.checksums();
        let before = known.range(..=range.start).next_back().map(|(_, sum)| sum);
        let before = before.filter(|sum| sum.range.end > range.start);
        let after = known.range(range.start.saturating_add(1)..range.end.max(range.start.saturating_add(1)));
        before.into_iter().chain(after.map(|(_, sum)| sum)).cloned().collect()
    }

    /// The checksums of all ranges of at most `len` bytes.
    pub fn checksums_up_to(&self, len: u64) -> Vec<Checksum> {
        let is_short = |sum: &&Checksum| sum.range.end.saturating_sub(sum.range.start) <= len;
        self.checksums().values().filter(is_short).cloned().collect()
    }

    fn checksums(&self) -> MutexGuard<'_, BTreeMap<u64, Checksum>> {
        self.inner.checksums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets whether the kernel reads ahead, as it does by default. A header at the start of a weight file does not
    /// need the megabytes after it.
    pub fn read_ahead(&self, wanted: bool) {
        #[cfg(unix)]
        {
            let advice = if wanted { memmap2::Advice::Normal } else { memmap2::Advice::Random };
            // Advice changes nothing but speed.
            let _ = self.inner.map.advise(advice);
        }
        #[cfg(not(unix))]
        let _ = wanted;
    }

    /// Whether both are the same mapping.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Equal for those that are the [`same`](Self::same), as long as they live.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.inner) as usize
    }
}

fn state(file: &File) -> io::Result<(u64, Option<SystemTime>)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.modified().ok()))
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}
