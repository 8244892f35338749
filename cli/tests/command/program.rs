//! Starts the command, and reads its output.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use onnxport_core::ir::Model;
use onnxport_core::write::{WriteOptions, write};
use serde_json::Value;
use tempfile::TempDir;

/// A small program, from the root of the repository.
pub(crate) const MLP: &str = "examples/mlp/mlp.pt2";

/// The root of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace")
}

/// [`MLP`], from anywhere.
pub(crate) fn mlp() -> PathBuf {
    repository().join(MLP)
}

/// A program with equal weights and recorded values, from anywhere.
pub(crate) fn twins() -> PathBuf {
    repository().join("tests/files/data/twins.pt2")
}

/// The command with these arguments, not yet started.
///
/// It verifies against recorded values: starting PyTorch for each conversion takes seconds, and the Python tests do it.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onnxport"));
    command.args(arguments).current_dir(folder).env("ONNXPORT_REFERENCE", "recorded");
    command
}

/// Runs the command in the root of the repository.
pub(crate) fn onnxport(arguments: &[&str]) -> Output {
    onnxport_in(repository(), arguments)
}

/// Runs the command in `folder`.
pub(crate) fn onnxport_in(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("the binary starts")
}

/// Runs the command in `folder` with `--json`; the exit code, and the object that it printed.
pub(crate) fn answer(folder: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let output = onnxport_in(folder, &[arguments, &["--json"]].concat());
    (output.status.code(), json(&output))
}

/// Returns the `--json` output of a command that succeeds in the root of the repository.
pub(crate) fn succeed(arguments: &[&str]) -> Value {
    let (code, said) = answer(repository(), arguments);
    assert_eq!(code, Some(0), "{said}");
    said
}

/// The one object that was printed.
pub(crate) fn json(output: &Output) -> Value {
    let Output { status, stdout, stderr } = output;
    serde_json::from_slice(stdout).unwrap_or_else(|_| panic!("{status}: {}", String::from_utf8_lossy(stderr)))
}

/// Returns output as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

/// A new folder, and paths in it as texts.
pub(crate) fn folder() -> (TempDir, impl Fn(&str) -> String + use<>) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().to_owned();
    (folder, move |name: &str| place.join(name).to_str().expect("UTF-8").to_owned())
}

/// Writes the model that `text` says.
pub(crate) fn write_model(path: impl AsRef<Path>, text: &str) {
    let model = Model::parse(text).unwrap_or_else(|error| panic!("{error}"));
    write(&model, path.as_ref(), &WriteOptions::default()).expect("it is written");
}

/// Whether there is an ONNX Runtime. Otherwise the test counts as skipped.
pub(crate) fn has_runtime() -> bool {
    let found = onnxport_ort::discover::find().is_some();
    if !found {
        onnxport_harness::note("no ONNX Runtime library was found");
    }
    found
}
