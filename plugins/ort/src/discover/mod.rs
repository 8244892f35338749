//! Where an ONNX Runtime library is looked for, in this order:
//!
//! 1. the path that the user gave (the caller's business);
//! 2. `ORT_DYLIB_PATH`;
//! 3. the `onnxruntime` package of the active Python: in the folders of `VIRTUAL_ENV`, of `CONDA_PREFIX`, of the
//!    `python3` and `python` on `PATH`, and of the user's own packages;
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
    let interpreters = interpreters();
    set("ORT_DYLIB_PATH")
        .or_else(|| in_prefixes(&interpreters))
        .or_else(in_system)
        .or_else(|| python::ask(&interpreters, remember))
}

fn set(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The interpreters on `PATH`, each once.
fn interpreters() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for python in ["python3", "python"].into_iter().filter_map(on_path) {
        if found.iter().all(|other| other.canonicalize().ok() != python.canonicalize().ok()) {
            found.push(python);
        }
    }
    found
}

fn in_prefixes(interpreters: &[PathBuf]) -> Option<PathBuf> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(set);
    let installed = interpreters.iter().flat_map(|python| {
        // A virtual environment's interpreter is a link out of it, so look at both ends.
        [python.clone(), python.canonicalize().unwrap_or_else(|_| python.clone())]
    });
    let installed = installed.filter_map(|python| Some(python.parent()?.parent()?.to_owned()));
    // What a user installs without an environment, and what is installed by hand beside the system's Python.
    let own = env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(".local"));
    let others = own.into_iter().chain([PathBuf::from("/usr/local")]).filter(|_| !interpreters.is_empty());
    active.chain(installed).chain(others).find_map(|prefix| in_prefix(&prefix))
}

fn on_path(program: &str) -> Option<PathBuf> {
    let file = format!("{program}{}", env::consts::EXE_SUFFIX);
    let folders = env::var_os("PATH")?;
    // What lies in the working folder is not asked.
    env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&file))
        .find(|path| path.is_file())
}

/// The library in the packages of the Python installed at `prefix`.
fn in_prefix(prefix: &Path) -> Option<PathBuf> {
    let mut roots = vec![prefix.join("Lib")];
    for lib in ["lib", "lib64", "local/lib"] {
        let Ok(entries) = fs::read_dir(prefix.join(lib)) else { continue };
        let pythons = entries.flatten().filter(|e| e.file_name().to_string_lossy().starts_with("python3"));
        let mut pythons: Vec<PathBuf> = pythons.map(|e| e.path()).collect();
        pythons.sort();
        roots.extend(pythons.into_iter().rev());
    }
    roots
        .iter()
        .flat_map(|root| ["site-packages", "dist-packages"].map(|packages| root.join(packages)))
        .find_map(|packages| library_in(&packages.join("onnxruntime").join("capi")))
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
