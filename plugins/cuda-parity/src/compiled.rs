//! Kernels as libraries of the processor, for tests. Compiled libraries are cached in the target folder, by a hash of their
//! sources.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use libloading::Library;

/// The flags of every source. Rounding stays that of each operation.
const FLAGS: [&str; 8] =
    ["-x", "c", "-std=gnu11", "-w", "-shared", "-fPIC", "-fno-strict-aliasing", "-ffp-contract=off"];

/// The version of the C compiler, or why there is none.
static COMPILER: LazyLock<Result<String, String>> = LazyLock::new(|| {
    let said = Command::new("cc").arg("--version").output();
    let said = said.map_err(|e| format!("no C compiler `cc`: {e}"))?;
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
});

/// Whether kernels can be compiled here.
///
/// # Errors
/// Why they cannot.
pub(crate) fn can_compile() -> Result<(), String> {
    COMPILER.as_ref().map(|_| ()).map_err(Clone::clone)
}

/// A folder beside the tests' own libraries.
fn folder() -> Result<PathBuf, String> {
    let test = env::current_exe().map_err(|e| e.to_string())?;
    let build = test.parent().and_then(Path::parent).ok_or("the test has no folder")?;
    let folder = build.join("emulated-kernels");
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    Ok(folder)
}

/// The library of a source in C.
///
/// # Errors
/// An error of the compiler.
pub(crate) fn library(source: &str) -> Result<Library, String> {
    let compiler = COMPILER.as_ref().map_err(Clone::clone)?;
    let mut hasher = DefaultHasher::new();
    (compiler, FLAGS, source).hash(&mut hasher);
    let stem = folder()?.join(format!("{:016x}", hasher.finish()));
    let (text, made) = (stem.with_extension("c"), stem.with_extension("so"));
    // The text stands beside the library, so that two that share a name are told apart.
    let known = fs::read_to_string(&text).is_ok_and(|known| known == source) && made.exists();
    if !known {
        compile(source, &text, &made)?;
    }
    // SAFETY: it was made of sources of this crate, and has no initialisers.
    unsafe { Library::new(&made) }.map_err(|e| e.to_string())
}

/// Makes both files. Others may do the same at the same time: each file appears whole.
fn compile(source: &str, text: &Path, made: &Path) -> Result<(), String> {
    let room = tempfile::tempdir_in(folder()?).map_err(|e| e.to_string())?;
    let (input, output) = (room.path().join("kernel.c"), room.path().join("kernel.so"));
    fs::write(&input, source).map_err(|e| e.to_string())?;
    let mut cc = Command::new("cc");
    let done = cc.args(FLAGS).arg("-pthread").arg("-o").args([&output, &input]).arg("-lm").output();
    let done = done.map_err(|e| e.to_string())?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned());
    }
    fs::rename(&output, made).and_then(|()| fs::rename(&input, text)).map_err(|e| e.to_string())
}
