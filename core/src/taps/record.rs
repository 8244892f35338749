//! Having the user's PyTorch run a program and record its values.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tempfile::TempDir;

use super::Recorded;
use crate::diagnose::{Code, Diagnostic};
use crate::interpreter;
use crate::verify::child::Child;

const SCRIPT: &str = include_str!("record.py");

/// The default time limit for PyTorch.
const PATIENCE: Duration = Duration::from_hours(1);

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Error { error: String },
    Recorded {},
}

/// A file of recorded values. A temporary one is removed on drop.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    _folder: Option<TempDir>,
}

impl Recording {
    /// Returns the recording beside the archive at `program`, if there is one.
    pub fn beside(program: &Path) -> Option<Self> {
        let path = Recorded::beside(program);
        path.is_file().then_some(Self { path, _folder: None })
    }

    /// Has PyTorch record the results of every node of the archive at `program` in its example call, within `limit`. It
    /// may run code from the archive.
    ///
    /// # Errors
    /// `OP706` if there is no suitable Python, or it fails.
    pub fn make(program: &Path, seed: u64, limit: Option<Duration>) -> Result<Self, Diagnostic> {
        let folder = tempfile::Builder::new().prefix("onnxport-record-").tempdir().map_err(|e| {
            Diagnostic::error(Code::WRITE_IO, format!("cannot create a temporary folder: {e}"))
        })?;
        let name = Recorded::beside(program).file_name().map(OsStr::to_owned).unwrap_or_default();
        let path = folder.path().join(name);
        ask(program, &path, seed, limit.unwrap_or(PATIENCE)).map_err(|why| {
            let message = format!("the values of {} cannot be recorded: {why}", program.display());
            let help =
                "this needs a Python with PyTorch and the package `onnxport`: activate its environment";
            Diagnostic::error(Code::VERIFY_REFERENCE, message).help(help)
        })?;
        Ok(Self { path, _folder: Some(folder) })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn ask(program: &Path, target: &Path, seed: u64, limit: Duration) -> Result<(), String> {
    let python = interpreter::with(&["torch", "onnxport"])?;
    let told = |why: String| format!("`{}`: {why}", python.interpreter.display());
    let request = serde_json::json!({ "target": target, "seed": seed }).to_string().into_bytes();
    let child = Child::start(&python.interpreter, SCRIPT, program, true, request, limit);
    let said = child.and_then(|mut child| child.answer()).map_err(told)?;
    match serde_json::from_slice(&said) {
        Ok(Answer::Recorded {}) => Ok(()),
        Ok(Answer::Error { error }) => Err(told(error)),
        Err(error) => Err(told(format!("its answer is not one: {error}"))),
    }
}
