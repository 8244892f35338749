//! Asking an interpreter where its `onnxruntime` package is, without importing it.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use onnxport_ir::interpreter::Python;
use onnxport_ir::library;

use super::STEM;
use super::memory::{Answer, Key, Memory, Watched};

/// How long an interpreter may think.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest answer that is read.
const MAX_ANSWER: u64 = 1 << 20;

/// Prints the folder of the package, or nothing, then the folders that were searched. The working folder is not
/// searched: files that happen to be there are not loaded.
const SCRIPT: &str = "\
import sys
sys.path[:] = [p for p in sys.path if p]
import os, importlib.util
spec = importlib.util.find_spec('onnxruntime')
places = spec and spec.submodule_search_locations
answer = [places[0] if places else ''] + sys.path
sys.stdout.buffer.write(b'\\0'.join(map(os.fsencode, answer)))
";

/// The dependencies of an interpreter's answer besides itself.
const VARIABLES: [&str; 9] = [
    "ASDF_PYTHON_VERSION",
    "HOME",
    "MISE_PYTHON_VERSION",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "PYTHONHOME",
    "PYTHONNOUSERSITE",
    "PYTHONPATH",
    "PYTHONUSERBASE",
];

/// The library of the first interpreter that has one.
pub(super) fn ask(pythons: &[Python], remember: bool) -> Option<PathBuf> {
    let memory = if remember { Memory::of_user() } else { None };
    pythons.iter().find_map(|python| recall(&python.interpreter, memory.as_ref()))
}

fn recall(python: &Path, memory: Option<&Memory>) -> Option<PathBuf> {
    let is_script = is_script(python);
    let key = key(python, is_script);
    if let Some(answer) = memory.zip(key.as_ref()).and_then(|(memory, key)| memory.recall(key)) {
        return answer.library;
    }
    let said = answer(python)?;
    let mut parts = said.split(|byte| *byte == 0).map(path);
    let package = parts.next().filter(|package| !package.as_os_str().is_empty());
    let library = package.and_then(|package| library::newest_in(&package.join("capi"), STEM));
    if let Some((memory, key)) = memory.zip(key) {
        let choices = if is_script { version_files() } else { Vec::new() };
        let watched = parts.chain(choices).map(Watched::now).collect();
        memory.keep(key, Answer { library: library.clone(), watched });
    }
    library
}

fn key(python: &Path, is_script: bool) -> Option<Key> {
    let variables = VARIABLES.into_iter().map(|name| env::var_os(name).unwrap_or_default());
    // A version manager's script chooses an interpreter by the folder that it is called in.
    let folder = if is_script { env::current_dir().unwrap_or_default() } else { PathBuf::new() };
    Key::new(python, variables.chain([folder.into_os_string()]))
}

/// Whether the interpreter is started by another program, as those of version managers are.
fn is_script(python: &Path) -> bool {
    let mut start = [0; 2];
    File::open(python).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"#!"
}

/// The files by which version managers choose an interpreter.
fn version_files() -> Vec<PathBuf> {
    const NAMES: [&str; 3] = [".python-version", ".tool-versions", "mise.toml"];
    let here = env::current_dir().unwrap_or_default();
    let home = env::home_dir().unwrap_or_default();
    let root = library::stated("PYENV_ROOT").unwrap_or_else(|| home.join(".pyenv"));
    let folders = here.ancestors().chain([home.as_path()]);
    folders.flat_map(|folder| NAMES.map(|name| folder.join(name))).chain([root.join("version")]).collect()
}

/// The output of the interpreter, unless it fails or takes too long.
fn answer(python: &Path) -> Option<Vec<u8>> {
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let stdout = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    let read = move || {
        let mut bytes = Vec::new();
        let read = stdout.take(MAX_ANSWER).read_to_end(&mut bytes);
        // Nobody listens any more when the time is over.
        let _ = sender.send(read.map(|_| bytes));
    };
    let reader = thread::Builder::new().name("python".to_owned()).spawn(read);
    let said = reader.ok().and_then(|_| receiver.recv_timeout(PATIENCE).ok()?.ok());
    if said.is_none() {
        let _ = child.kill();
    }
    let ended = child.wait().ok()?;
    said.filter(|_| ended.success())
}

#[cfg(unix)]
fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;

    OsString::from_vec(bytes.to_vec()).into()
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> PathBuf {
    OsString::from(String::from_utf8_lossy(bytes).into_owned()).into()
}
