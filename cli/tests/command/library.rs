//! Libraries that tests build: with cargo, beside the command so that dependencies are built once, and with a C
//! compiler.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::program::repository;

/// Where cargo builds everything.
pub(crate) fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder")
}

/// Runs cargo in `folder`, which succeeds.
pub(crate) fn cargo(folder: &Path, arguments: &[&str]) -> Output {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments).arg("--target-dir").arg(target()).current_dir(folder);
    let output = cargo.output().expect("cargo starts");
    assert!(output.status.success(), "{cargo:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The profile that these tests, and the command that they run, were built with.
fn profile() -> &'static str {
    let folder = Path::new(env!("CARGO_BIN_EXE_onnxport")).parent().and_then(Path::file_name);
    let folder = folder.and_then(OsStr::to_str).expect("the folder of a profile");
    if folder == "debug" { "dev" } else { folder }
}

/// Builds the plugin in `package` of this repository as a shared library, which is called `name`, and returns it.
pub(crate) fn plugin(package: &str, name: &str) -> PathBuf {
    let arguments =
        ["rustc", "--quiet", "--profile", profile(), "-p", package, "--lib", "--crate-type", "cdylib"];
    cargo(repository(), &[&arguments[..], &["--features", "cdylib"]].concat());
    built(name, profile())
}

/// Where cargo puts the library called `name`.
pub(crate) fn built(name: &str, profile: &str) -> PathBuf {
    let folder = if profile == "dev" { "debug" } else { profile };
    let file = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    target().join(folder).join(file)
}

/// Builds the crate in a folder of the repository, and returns its library, which is called `name`.
pub(crate) fn build(folder: &str, name: &str, profile: &str) -> PathBuf {
    cargo(&repository().join(folder), &["build", "--quiet", "--profile", profile]);
    let library = built(name, profile);
    assert!(library.is_file(), "{} is missing", library.display());
    library
}

/// The plugin for GPUs, which the command does not contain.
pub(crate) fn cuda_parity() -> &'static str {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| plugin("onnxport-cuda-parity", "onnxport_cuda_parity"));
    library.to_str().expect("UTF-8")
}

/// Compiles a file in C that lies here, against the header of the contract.
#[cfg(unix)]
pub(crate) fn compile(source: &str, library: &Path, more: &[&str]) {
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]).args(more).arg("-I");
    cc.arg(repository().join("plugin-sdk/abi/include")).arg("-o").arg(library);
    cc.arg(repository().join("cli/tests/command").join(source));
    assert!(cc.status().expect("the C compiler starts; Rust links with it").success(), "{cc:?}");
}
