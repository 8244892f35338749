//! A folder that is filled before it becomes visible.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::diagnose::Report;
use crate::write::interrupt::{self, Watch};
use crate::write::publish::{self, lock};
use crate::write::sync;

/// The prefix of hidden folders.
const PREFIX: &str = ".onnxport-package-";

/// The suffix of hidden folders.
const SUFFIX: &str = ".tmp";

/// The folder in which `folder` lies.
pub(super) fn parent(folder: &Path) -> &Path {
    folder.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Fails when something is at `folder`, where a package is to be.
///
/// # Errors
/// `OP601`.
pub fn refuse_existing(folder: &Path) -> Result<(), Report> {
    if folder.symlink_metadata().is_ok() {
        return Err(publish::failed(folder, &exists()));
    }
    Ok(())
}

fn exists() -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, "it exists already")
}

/// Removes leftovers of killed runs beside `folder`: hidden folders that no living run has locked. If folders
/// cannot be locked they stay, since their owners are unknown.
pub(super) fn sweep(folder: &Path) {
    let parent = parent(folder);
    // A run makes and locks its folder under this lock, so that none is seen in between.
    let Ok(Some(_lock)) = lock::folder(parent) else { return };
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let is_free = File::open(entry.path()).is_ok_and(|left| left.try_lock().is_ok());
        if is_free {
            // A leftover that cannot be removed does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A hidden folder beside the final one, which vanishes unless it is published.
#[derive(Debug)]
pub(super) struct Staging {
    path: PathBuf,
    /// Locked, where folders can be: a later run can tell that this one lives.
    lock: Option<File>,
    watch: Option<Watch>,
}

impl Staging {
    /// An empty folder beside `folder`.
    ///
    /// # Errors
    /// Those of making a folder, and `TimedOut` when another run keeps the one around it locked.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        let parent = parent(folder);
        let _lock = lock::folder(parent)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The usual mode of new folders; the library's default is for secrets.
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        let (path, watch) = Watch::made(|| Ok(builder.tempdir_in(parent)?.keep()))?;
        let lock = File::open(&path).ok().filter(|own| own.try_lock().is_ok());
        Ok(Self { path, lock, watch: Some(watch) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the folder its name.
    ///
    /// # Errors
    /// `AlreadyExists` when something has that name by now, and those of renaming.
    pub(super) fn publish(mut self, folder: &Path) -> io::Result<()> {
        sync::folder(&self.path);
        let _guard = interrupt::publishing();
        let _lock = lock::folder(parent(folder))?;
        if folder.symlink_metadata().is_ok() {
            return Err(exists());
        }
        // Some systems do not rename a folder that is open.
        self.lock = None;
        fs::rename(&self.path, folder)?;
        self.watch = None;
        sync::folder(parent(folder));
        Ok(())
    }

    /// Gives the folder `part` in this one the name `folder`; the rest is removed.
    ///
    /// # Errors
    /// Those of [`publish`](Self::publish).
    pub(super) fn publish_part(mut self, part: &Path, folder: &Path) -> io::Result<()> {
        sync::folder(part);
        let _guard = interrupt::publishing();
        let _lock = lock::folder(parent(folder))?;
        if folder.symlink_metadata().is_ok() {
            return Err(exists());
        }
        // Some systems do not rename out of a folder that is open.
        self.lock = None;
        fs::rename(part, folder)?;
        sync::folder(parent(folder));
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.watch.is_some() {
            // The original error is more useful than one about leftover files.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
