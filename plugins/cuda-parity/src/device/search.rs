//! Where CUDA's libraries are looked for, in this order:
//!
//! 1. the path that the user gave (the caller's business);
//! 2. the packages of the active Python ([`onnxport_ir::interpreter`]), which PyTorch brings along;
//! 3. the toolkits at `CUDA_HOME`, `CUDA_PATH` and `/usr/local/cuda*`, `LD_LIBRARY_PATH`, and the system's folders;
//! 4. the folders that the system's loader knows.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use libloading::Library;

/// The compiler of kernels.
pub(crate) const NVRTC: &str = "nvrtc";
/// The products of matrices.
pub(super) const BLAS: &str = "cublas";
/// The newest and the oldest version that the loader is asked for.
const VERSIONS: [u32; 3] = [13, 12, 11];

/// The first library called `stem` in the documented order.
pub(super) fn find(stem: &str) -> Option<PathBuf> {
    let pythons = onnxport_ir::interpreter::active();
    let packages = pythons.iter().flat_map(|python| in_packages(&python.packages));
    let found = packages.chain(in_system()).find_map(|folder| library_in(&folder, stem));
    found.or_else(|| known_to_the_loader(stem))
}

/// A name by which the system's loader finds the library.
fn known_to_the_loader(stem: &str) -> Option<PathBuf> {
    let names = VERSIONS.map(|version| format!("lib{stem}.so.{version}"));
    // SAFETY: NVIDIA's libraries are made to be loaded by any process.
    names.into_iter().find(|name| unsafe { Library::new(name) }.is_ok()).map(PathBuf::from)
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

/// The entries of a folder in descending order, so that newer versions come first.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).map(|entries| entries.flatten().map(|e| e.path()).collect()).unwrap_or_default();
    found.sort();
    found.reverse();
    found
}

fn in_system() -> Vec<PathBuf> {
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(set);
    let installed = entries(Path::new("/usr/local")).into_iter().filter(|folder| {
        folder.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("cuda-"))
    });
    let listed = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let listed = env::split_paths(&listed).filter(|folder| !folder.as_os_str().is_empty());
    let folders: Vec<PathBuf> = listed.collect();
    let triple = PathBuf::from(format!("/usr/lib/{}-linux-gnu", env::consts::ARCH));
    toolkits
        .chain([PathBuf::from("/usr/local/cuda")])
        .chain(installed)
        .flat_map(|toolkit| {
            ["lib64", "lib", "bin", "targets/x86_64-linux/lib"].map(|folder| toolkit.join(folder))
        })
        .chain(folders)
        .chain(["/usr/local/lib", "/usr/lib", "/usr/lib64"].map(PathBuf::from))
        .chain([triple])
        .collect()
}

/// The newest library called `stem` in `folder`.
pub(crate) fn library_in(folder: &Path, stem: &str) -> Option<PathBuf> {
    let ranked = |path: PathBuf| Some((rank(path.file_name()?, stem)?, path));
    entries(folder).into_iter().filter_map(ranked).max().map(|(_, path)| path)
}

/// The version in a library's name, as numbers; `None` when the file is not the library.
fn rank(name: &OsStr, stem: &str) -> Option<Vec<u32>> {
    let name = name.to_str()?;
    let version = match name.strip_prefix(&format!("lib{stem}.so")) {
        Some(rest) => rest.strip_prefix('.').unwrap_or(rest),
        None => {
            let rest = name.strip_prefix(&format!("{stem}64_"))?.strip_suffix(".dll")?;
            rest.strip_suffix("_0").unwrap_or(rest)
        }
    };
    version.split('.').filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{BLAS, NVRTC, OsStr, in_packages, library_in, rank};

    #[test]
    fn names_of_a_library_are_told_from_its_neighbours() {
        let rank = |name: &str| rank(OsStr::new(name), NVRTC);
        assert_eq!(rank("libnvrtc.so"), Some(vec![]));
        assert_eq!(rank("libnvrtc.so.12"), Some(vec![12]));
        assert_eq!(rank("nvrtc64_130_0.dll"), Some(vec![130]));
        for other in ["libnvrtc-builtins.so.13.2", "libnvrtc.alt.so.13", "libnvrtc.so.txt"] {
            assert_eq!(rank(other), None, "{other}");
        }
        assert_eq!(super::rank(OsStr::new("libcublas.so.13"), BLAS), Some(vec![13]));
        assert_eq!(super::rank(OsStr::new("cublas64_13.dll"), BLAS), Some(vec![13]));
        assert_eq!(super::rank(OsStr::new("libcublasLt.so.13"), BLAS), None);
    }

    #[test]
    fn libraries_of_python_packages_are_found() {
        let packages = tempfile::tempdir().unwrap();
        let folder = packages.path().join("nvidia/cu13/lib");
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["libnvrtc.so.13", "libnvrtc-builtins.so.13.2", "libcublas.so.13", "libcublasLt.so.13"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let packages = [packages.path().to_owned()];
        for (stem, name) in [(NVRTC, "libnvrtc.so.13"), (BLAS, "libcublas.so.13")] {
            let found = in_packages(&packages).iter().find_map(|folder| library_in(folder, stem));
            assert_eq!(found, Some(folder.join(name)));
        }
    }
}
