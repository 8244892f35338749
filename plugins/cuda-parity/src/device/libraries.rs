//! cuBLAS, which multiplies matrices: it is used where it is found, and asked for by nobody else.

use std::fs;
use std::path::{Path, PathBuf};

/// Loads cuBLAS from `folder`, or looks for it as the system does. Returns whether it is there.
pub(super) fn blas(folder: Option<&Path>) -> bool {
    // The first is needed by the second.
    for stem in ["libcublasLt.so", "libcublas.so"] {
        if let Some(path) = folder.and_then(|folder| named(folder, stem)) {
            // SAFETY: the user names the folder as that of CUDA's libraries, whose initialisers may run.
            if let Ok(library) = unsafe { libloading::Library::new(path) } {
                // Who asks for it by name finds what is loaded.
                std::mem::forget(library);
            }
        }
    }
    // SAFETY: NVIDIA's library is made to be loaded by any process.
    unsafe { cudarc::cublas::sys::is_culib_present() }
}

/// The newest library whose name starts so.
fn named(folder: &Path, stem: &str) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    files.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(stem))).max()
}
