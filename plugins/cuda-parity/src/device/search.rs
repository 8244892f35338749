//! Where NVRTC is looked for, in this order:
//!
//! 1. the path that the user gave (the caller's business);
//! 2. the packages `nvidia-cuda-nvrtc` of the active Python ([`onnxport_ir::interpreter`]), which PyTorch brings along;
//! 3. the toolkit at `CUDA_HOME` and `CUDA_PATH`, `LD_LIBRARY_PATH`, and the system's folders.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The first library in the documented order.
pub(super) fn find() -> Option<PathBuf> {
    let pythons = onnxport_ir::interpreter::active();
    let packages = pythons.iter().flat_map(|python| in_packages(&python.packages));
    packages.chain(in_system()).find_map(|folder| library_in(&folder))
}

fn set(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The folders with libraries of NVIDIA's packages among the packages of a Python.
fn in_packages(packages: &[PathBuf]) -> Vec<PathBuf> {
    // One package for each library until CUDA 12, one folder for all of them since.
    let nvidia = packages.iter().flat_map(|packages| entries(&packages.join("nvidia")));
    nvidia.flat_map(|package| ["lib", "bin"].map(|folder| package.join(folder))).collect()
}

/// What is in a folder, from the last name to the first: newer versions come before older ones.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).map(|entries| entries.flatten().map(|e| e.path()).collect()).unwrap_or_default();
    found.sort();
    found.reverse();
    found
}

fn in_system() -> Vec<PathBuf> {
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(set);
    let listed = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let listed = env::split_paths(&listed).filter(|folder| !folder.as_os_str().is_empty());
    let folders: Vec<PathBuf> = listed.collect();
    let triple = PathBuf::from(format!("/usr/lib/{}-linux-gnu", env::consts::ARCH));
    toolkits
        .chain([PathBuf::from("/usr/local/cuda")])
        .flat_map(|toolkit| ["lib64", "lib", "bin"].map(|folder| toolkit.join(folder)))
        .chain(folders)
        .chain(["/usr/local/lib", "/usr/lib", "/usr/lib64"].map(PathBuf::from))
        .chain([triple])
        .collect()
}

/// The newest NVRTC in `folder`.
pub(crate) fn library_in(folder: &Path) -> Option<PathBuf> {
    let best = entries(folder).into_iter().filter_map(|path| Some((rank(path.file_name()?)?, path))).max()?;
    Some(best.1)
}

/// The version in a library's name, as numbers; `None` when the file is not the library.
fn rank(name: &OsStr) -> Option<Vec<u32>> {
    let name = name.to_str()?;
    let version = match name.strip_prefix("libnvrtc.so") {
        Some(rest) => rest.strip_prefix('.').unwrap_or(rest),
        None => name.strip_prefix("nvrtc64_")?.strip_suffix("_0.dll")?,
    };
    version.split('.').filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{OsStr, in_packages, library_in, rank};

    #[test]
    fn names_of_the_library_are_told_from_its_neighbours() {
        let rank = |name: &str| rank(OsStr::new(name));
        assert_eq!(rank("libnvrtc.so"), Some(vec![]));
        assert_eq!(rank("libnvrtc.so.12"), Some(vec![12]));
        assert_eq!(rank("nvrtc64_130_0.dll"), Some(vec![130]));
        for other in ["libnvrtc-builtins.so.13.2", "libnvrtc.alt.so.13", "libnvrtc.so.txt"] {
            assert_eq!(rank(other), None, "{other}");
        }
    }

    #[test]
    fn the_packages_of_a_python_are_found() {
        let packages = tempfile::tempdir().unwrap();
        let folder = packages.path().join("nvidia/cu13/lib");
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["libnvrtc.so.13", "libnvrtc-builtins.so.13.2"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let packages = [packages.path().to_owned()];
        let found = in_packages(&packages).iter().find_map(|folder| library_in(folder));
        assert_eq!(found, Some(folder.join("libnvrtc.so.13")));
    }
}
