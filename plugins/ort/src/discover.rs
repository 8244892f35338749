//! Where an ONNX Runtime library is looked for, in this order:
//!
//! 1. the path that the user gave (the caller's business);
//! 2. `ORT_DYLIB_PATH`;
//! 3. the `onnxruntime` package of the active Python: `VIRTUAL_ENV`, `CONDA_PREFIX`, then the
//!    `python3` and `python` on `PATH`. Their folders are searched without starting Python; only when
//!    that finds nothing, the interpreter is asked where the package is;
//! 4. `LD_LIBRARY_PATH` and the system's library folders.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The first library in the documented order.
pub fn find() -> Option<PathBuf> {
    set("ORT_DYLIB_PATH").or_else(in_python).or_else(in_system)
}

fn set(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn in_python() -> Option<PathBuf> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(set);
    if let Some(library) = active.into_iter().find_map(|prefix| in_prefix(&prefix)) {
        return Some(library);
    }
    let interpreters: Vec<PathBuf> = ["python3", "python"].into_iter().filter_map(on_path).collect();
    let prefixes = interpreters.iter().flat_map(|python| {
        // A virtual environment's interpreter is a link out of it, so look at both ends.
        [python.clone(), python.canonicalize().unwrap_or_else(|_| python.clone())]
    });
    prefixes
        .filter_map(|python| Some(python.parent()?.parent()?.to_owned()))
        .find_map(|prefix| in_prefix(&prefix))
        .or_else(|| interpreters.iter().find_map(|python| ask(python)))
}

fn on_path(program: &str) -> Option<PathBuf> {
    let file = format!("{program}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(&file)).find(|path| path.is_file())
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

/// Asks an interpreter where the package is, without importing it.
fn ask(python: &Path) -> Option<PathBuf> {
    const SCRIPT: &str = "import importlib.util as u; s = u.find_spec('onnxruntime'); \
                          print(s.submodule_search_locations[0] if s else '')";
    let output =
        Command::new(python).args(["-c", SCRIPT]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let package = String::from_utf8(output.stdout).ok()?;
    let package = package.trim();
    (!package.is_empty()).then(|| library_in(&Path::new(package).join("capi"))).flatten()
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
