//! Files that are written before they become visible.

#[cfg(unix)]
use std::fs;
use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::write::interrupt::Watch;

/// The prefix of hidden files.
pub(super) const PREFIX: &str = ".onnxport-";

/// The suffix of temporary files: of all if the system has no unnamed files, else of those that are read before
/// they are published. Some readers of models go by the suffix of a name.
pub(super) const TEMPORARY: &str = ".tmp.onnx";

/// A file in the output's folder that vanishes with the process unless it is given a name.
#[derive(Debug)]
pub(in crate::write) enum Staged {
    /// It has no name: nothing is left of it however the process ends.
    #[cfg(target_os = "linux")]
    Unnamed(File),
    /// It has a hidden name and is locked, so that a later run can tell whether its owner lives.
    Named(NamedTempFile, Watch),
}

impl Staged {
    /// A file in `folder`; `stem` tells the files of one output from those of others.
    ///
    /// # Errors
    /// Those of creating a file.
    pub(super) fn new(folder: &Path, stem: &str) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed(folder)? {
            return Ok(Self::Unnamed(file));
        }
        Self::named(folder, stem)
    }

    pub(super) fn named(folder: &Path, stem: &str) -> io::Result<Self> {
        let prefix = prefix(stem);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(TEMPORARY);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The usual mode of new files; the library's default is for secrets.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder)?;
        // Where a file system has no locks, a later run takes the file for one of a run that is gone.
        let _ = file.as_file().lock();
        let watch = Watch::new(file.path());
        Ok(Self::Named(file, watch))
    }

    /// The path of the file, which has a hidden name from now on if it had none.
    ///
    /// # Errors
    /// Those of making a link.
    pub(super) fn reveal(&mut self, folder: &Path, stem: &str) -> io::Result<&Path> {
        #[cfg(target_os = "linux")]
        if let Self::Unnamed(file) = self {
            let file = file.try_clone()?;
            let _ = file.lock();
            let prefix = prefix(stem);
            let mut builder = tempfile::Builder::new();
            builder.prefix(&prefix).suffix(TEMPORARY);
            let path = builder.make_in(folder, |path| link(&file, path))?.into_temp_path();
            let watch = Watch::new(&path);
            *self = Self::Named(NamedTempFile::from_parts(file, path), watch);
        }
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(_) => Err(io::ErrorKind::NotFound.into()),
            Self::Named(file, _) => Ok(file.path()),
        }
    }

    /// The file, for reading and writing.
    pub(in crate::write) fn file(&mut self) -> &mut File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => file,
            Self::Named(file, _) => file.as_file_mut(),
        }
    }

    /// Gives the file the name `path`; an older file of this name is replaced.
    ///
    /// # Errors
    /// Those of renaming a file.
    pub(in crate::write) fn appear(self, path: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => {
                super::remove(path)?;
                link(&file, path)
            }
            Self::Named(file, _watch) => file.persist(path).map(drop).map_err(|e| e.error),
        }
    }
}

fn prefix(stem: &str) -> String {
    format!("{PREFIX}{stem}-")
}

/// Opens a file without a name; `None` where there are none, or where they cannot be named later.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;

    // The way to name an open file without privileges.
    if !Path::new("/proc/self/fd").exists() {
        return Ok(None);
    }
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)) {
        Ok(file) => Ok(Some(file.into())),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD};

    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from)
}
