//! Finds shared libraries by their names, such as those of runtimes.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The path that an environment variable states.
pub fn stated(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The folders of `LD_LIBRARY_PATH`, then those of the system.
pub fn system_folders() -> impl Iterator<Item = PathBuf> {
    let listed = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let listed: Vec<PathBuf> = env::split_paths(&listed).collect();
    let fixed = ["/usr/local/lib", "/usr/lib", "/usr/lib64", "/opt/homebrew/lib"].map(PathBuf::from);
    let triple = PathBuf::from(format!("/usr/lib/{}-linux-gnu", env::consts::ARCH));
    listed.into_iter().filter(|folder| !folder.as_os_str().is_empty()).chain(fixed).chain([triple])
}

/// The newest library called `stem` in `folder`; Python packages ship only the name with the full version.
pub fn newest_in(folder: &Path, stem: &str) -> Option<PathBuf> {
    let names = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name());
    let best = names.filter_map(|name| Some((version(&name, stem)?, name))).max()?;
    Some(folder.join(best.1))
}

/// The version in a library's name, as numbers; `None` when the file is not the library.
fn version(name: &OsStr, stem: &str) -> Option<Vec<u32>> {
    let name = name.to_str()?;
    let version = match name.strip_prefix("lib").and_then(|name| name.strip_prefix(stem)?.strip_prefix('.')) {
        Some("so" | "dylib") => "",
        Some(rest) => rest.strip_prefix("so.").or_else(|| rest.strip_suffix(".dylib"))?,
        None if name.strip_suffix(".dll") == Some(stem) => "",
        None => return None,
    };
    version.split('.').filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_library_are_told_from_its_neighbors() {
        let runtime = |name: &str| version(OsStr::new(name), "onnxruntime");
        assert_eq!(runtime("libonnxruntime.so"), Some(vec![]));
        assert_eq!(runtime("libonnxruntime.so.1.31.1"), Some(vec![1, 31, 1]));
        assert_eq!(runtime("libonnxruntime.1.24.0.dylib"), Some(vec![1, 24, 0]));
        assert_eq!(runtime("onnxruntime.dll"), Some(vec![]));
        assert!(runtime("libonnxruntime.so.1.9.0") < runtime("libonnxruntime.so.1.31.1"));
        for other in ["libonnxruntime_providers_shared.so", "libonnxruntime.so.txt", "libonnx.so"] {
            assert_eq!(runtime(other), None, "{other}");
        }
        let openvino = |name: &str| version(OsStr::new(name), "openvino_c");
        assert_eq!(openvino("libopenvino_c.so"), Some(vec![]));
        assert_eq!(openvino("libopenvino_c.so.2641"), Some(vec![2641]));
        assert_eq!(openvino("libopenvino_c.2641.dylib"), Some(vec![2641]));
        assert_eq!(openvino("openvino_c.dll"), Some(vec![]));
        assert!(openvino("libopenvino_c.so.2541") < openvino("libopenvino_c.so.2641"));
        for other in ["libopenvino.so.2641", "libopenvino_c.so.txt", "libopenvino_cpu.so"] {
            assert_eq!(openvino(other), None, "{other}");
        }
    }
}
