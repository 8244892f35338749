//! Where an ONNX Runtime library is looked for, in this order:
//!
//! 1. the path that the user gave (the caller's business);
//! 2. `ORT_DYLIB_PATH`;
//! 3. the `onnxruntime` package of the active Python ([`onnxport_ir::interpreter`]), the one that this process is before
//!    all others;
//! 4. `LD_LIBRARY_PATH` and the system's library folders;
//! 5. where these interpreters say that the package is. That starts a process, so that it comes last, goes on while
//!    a program is converted ([`begin`]), and is remembered.

mod memory;
mod python;

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::Settings;

/// A search that goes on, or whose end nobody has asked for yet.
static BEGUN: Mutex<Option<JoinHandle<Option<PathBuf>>>> = Mutex::new(None);

/// Starts the search in the background, for the next [`find`].
pub fn begin() {
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    if begun.is_none() {
        // Without a thread `find` looks itself.
        let search = thread::Builder::new().name("runtime".to_owned()).spawn(look);
        *begun = search.ok();
    }
}

/// The first library in the documented order.
pub fn find() -> Option<PathBuf> {
    let begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner).take();
    begun.map_or_else(look, |search| search.join().ok().flatten())
}

fn look() -> Option<PathBuf> {
    let remember = Settings::get().is_ok_and(|settings| settings.remember);
    set("ORT_DYLIB_PATH")
        .or_else(in_packages)
        .or_else(in_system)
        .or_else(|| python::ask(&onnxport_ir::interpreter::active(), remember))
}

fn set(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn in_packages() -> Option<PathBuf> {
    let pythons = onnxport_ir::interpreter::active();
    let packages = pythons.iter().flat_map(|python| &python.packages);
    packages.map(|folder| folder.join("onnxruntime").join("capi")).find_map(|folder| library_in(&folder))
}

fn in_system() -> Option<PathBuf> {
    let listed = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let fixed = ["/usr/local/lib", "/usr/lib", "/usr/lib64", "/opt/homebrew/lib"].map(PathBuf::from);
    let triple = PathBuf::from(format!("/usr/lib/{}-linux-gnu", env::consts::ARCH));
    env::split_paths(&listed)
        .filter(|folder| !folder.as_os_str().is_empty())
        .chain(fixed)
        .chain([triple])
        .find_map(|folder| library_in(&folder))
}

/// The newest ONNX Runtime library in `folder`; the Python wheel ships only the full version's name.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let names = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name());
    let best = names.filter_map(|name| Some((rank(&name)?, name))).max()?;
    Some(folder.join(best.1))
}

/// The version in a library's name, as numbers; `None` when the file is not the library.
fn rank(name: &OsStr) -> Option<Vec<u32>> {
    let name = name.to_str()?;
    let version = match name.strip_prefix("libonnxruntime.") {
        Some("so" | "dylib") => "",
        Some(rest) => rest.strip_prefix("so.").or_else(|| rest.strip_suffix(".dylib"))?,
        None if name == "onnxruntime.dll" => "",
        None => return None,
    };
    version.split('.').filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_library_are_told_from_its_neighbours() {
        let rank = |name: &str| rank(OsStr::new(name));
        assert_eq!(rank("libonnxruntime.so"), Some(vec![]));
        assert_eq!(rank("libonnxruntime.so.1.31.1"), Some(vec![1, 31, 1]));
        assert_eq!(rank("libonnxruntime.1.24.0.dylib"), Some(vec![1, 24, 0]));
        assert_eq!(rank("onnxruntime.dll"), Some(vec![]));
        assert!(rank("libonnxruntime.so.1.9.0") < rank("libonnxruntime.so.1.31.1"));
        for other in ["libonnxruntime_providers_shared.so", "libonnxruntime.so.txt", "libonnx.so"] {
            assert_eq!(rank(other), None, "{other}");
        }
    }
}
