//! Where the library of OpenVINO's C API is looked for, in this order:
//!
//! 1. the path that the user gave (the caller's business);
//! 2. `OPENVINO_DYLIB_PATH`;
//! 3. the `openvino` package of the active Python ([`onnxport_ir::interpreter`]), else the library that its
//!    `onnxruntime-openvino` brings;
//! 4. `LD_LIBRARY_PATH`, which `setupvars.sh` of an installed OpenVINO sets, and the system's library folders.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The first library in the documented order.
pub fn find() -> Option<PathBuf> {
    let set = env::var_os("OPENVINO_DYLIB_PATH").filter(|value| !value.is_empty()).map(PathBuf::from);
    set.or_else(|| folders().iter().find_map(|folder| library_in(folder)))
}

fn folders() -> Vec<PathBuf> {
    let pythons = onnxport_ir::interpreter::active();
    let packages = |inner: [&str; 2]| {
        let all = pythons.iter().flat_map(|python| &python.packages);
        all.map(move |folder| folder.join(inner[0]).join(inner[1])).collect::<Vec<_>>()
    };
    let listed = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let fixed = ["/usr/local/lib", "/usr/lib", "/usr/lib64", "/opt/homebrew/lib"].map(PathBuf::from);
    let triple = PathBuf::from(format!("/usr/lib/{}-linux-gnu", env::consts::ARCH));
    packages(["openvino", "libs"])
        .into_iter()
        .chain(packages(["onnxruntime", "capi"]))
        .chain(env::split_paths(&listed).filter(|folder| !folder.as_os_str().is_empty()))
        .chain(fixed)
        .chain([triple])
        .collect()
}

/// The newest library of the C API in `folder`; the Python package has only the name with a version.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let names = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name());
    let best = names.filter_map(|name| Some((rank(&name)?, name))).max()?;
    Some(folder.join(best.1))
}

/// The version in a library's name, as numbers; `None` when the file is not the library.
fn rank(name: &OsStr) -> Option<Vec<u32>> {
    let name = name.to_str()?;
    let version = match name.strip_prefix("libopenvino_c.") {
        Some("so" | "dylib") => "",
        Some(rest) => rest.strip_prefix("so.").or_else(|| rest.strip_suffix(".dylib"))?,
        None if name == "openvino_c.dll" => "",
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
        assert_eq!(rank("libopenvino_c.so"), Some(vec![]));
        assert_eq!(rank("libopenvino_c.so.2641"), Some(vec![2641]));
        assert_eq!(rank("libopenvino_c.2641.dylib"), Some(vec![2641]));
        assert_eq!(rank("openvino_c.dll"), Some(vec![]));
        assert!(rank("libopenvino_c.so.2541") < rank("libopenvino_c.so.2641"));
        for other in ["libopenvino.so.2641", "libopenvino_c.so.txt", "libopenvino_cpu.so"] {
            assert_eq!(rank(other), None, "{other}");
        }
    }
}
