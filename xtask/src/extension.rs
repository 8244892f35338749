//! `cargo xtask python`: the extension module, built and put beside its package, so that `python/onnxport` can be imported
//! in the clone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{root, target};

/// Builds the extension, and puts it beside the package. Returns whether it could be built.
pub(crate) fn run(is_release: bool) -> Result<bool, String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "-p", "onnxport-python"]).args(is_release.then_some("--release"));
    let built = command.current_dir(root()).status().map_err(|e| format!("cargo: {e}"))?;
    if !built.success() {
        return Ok(false);
    }
    place(&root(), if is_release { "release" } else { "debug" })?;
    Ok(true)
}

/// Puts the extension of `profile` beside the package.
pub(crate) fn place(root: &Path, profile: &str) -> Result<PathBuf, String> {
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = target().join(profile).join(format!("{prefix}onnxport_python{suffix}"));
    let package = root.join("python/onnxport");
    let module = package.join(if cfg!(windows) { "_native.pyd" } else { "_native.abi3.so" });
    let hidden = package.join(format!("_native.{}.tmp", std::process::id()));
    // A process may have the old one in its memory: the new one is another file.
    let linked = fs::hard_link(&library, &hidden).or_else(|_| fs::copy(&library, &hidden).map(|_| ()));
    linked.and_then(|()| fs::rename(&hidden, &module)).map_err(|e| format!("{}: {e}", module.display()))?;
    // Renaming does nothing where both are one file already.
    let _ = fs::remove_file(&hidden);
    Ok(module)
}
