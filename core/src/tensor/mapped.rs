//! Files mapped into memory, read-only.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;

/// A read-only mapping that remembers its path; clones share the mapping.
#[derive(Clone, Debug)]
pub struct MappedFile {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    file: File,
    map: Mmap,
}

impl MappedFile {
    /// Maps the whole file at `path`.
    ///
    /// # Errors
    /// Any error of opening or mapping the file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        // SAFETY: the mapping is private to this process and read-only. A writer that truncates the
        // file underneath could fault a later read; every reader of user files accepts that.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Self { inner: Arc::new(Inner { path: path.to_owned(), file, map }) })
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

    /// Whether both are the same mapping.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}
