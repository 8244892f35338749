//! The temporary folder of a process that is confined by `--sandbox`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder. A process runs one command, so that it has at most one.
static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Creates the folder, in which all temporary files of this process are created from now on.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has a sandbox"))]
pub(crate) fn create() -> io::Result<&'static Path> {
    let folder = tempfile::Builder::new().prefix("onnxport-sandbox-").tempdir()?.keep();
    let folder = FOLDER.get_or_init(|| folder);
    // The folder of a second call would be refused.
    let _ = tempfile::env::override_temp_dir(folder);
    Ok(folder)
}

/// Removes the folder, at the end of the process.
pub(crate) fn remove() {
    if let Some(folder) = FOLDER.get() {
        // If it cannot be removed, an empty folder remains.
        let _ = std::fs::remove_dir_all(folder);
    }
}
