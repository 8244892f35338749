//! `cargo xtask conformance`: the backend tests of the `onnx` package, against inference and evaluation, and
//! `cargo xtask conformance ops`: PyTorch's samples of operators and modules.

use std::path::Path;
use std::process::Command;

use crate::{python, root, target};

/// Writes the tests, unless they are there, and the calls whose bodies are compared.
pub(crate) fn write(root: &Path, python: &Path) -> Result<(), String> {
    for (script, folder) in [("onnx_node_tests.py", "onnx-tests"), ("onnx_calls.py", "onnx-calls")] {
        let script = root.join("xtask/gen").join(script);
        let status =
            Command::new(python).args(["-W", "ignore"]).arg(&script).arg(target().join(folder)).status();
        let done = status.map_err(|e| format!("{}: {e}", script.display()))?.success();
        if !done {
            return Err(format!("{} failed", script.display()));
        }
    }
    Ok(())
}

/// Writes the tests and runs them. Returns whether all that is not known to fail passed.
pub(crate) fn run() -> Result<bool, String> {
    let root = root();
    write(&root, &python::environment(&root)?)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["test", "-p", "onnxport-tests", "--quiet", "--", "conformance::", "--nocapture"];
    let status = Command::new(cargo).args(arguments).current_dir(&root).status();
    Ok(status.map_err(|e| format!("cargo: {e}"))?.success())
}

/// Runs PyTorch's samples, those that an interrupted run left, and writes `docs/operators.md`. It takes half an hour.
pub(crate) fn samples() -> Result<bool, String> {
    let root = root();
    let python = python::environment(&root)?;
    let log = target().join("conformance/ops.jsonl");
    let folder = log.parent().unwrap_or(&log);
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut command = Command::new(python);
    command.args(["-m", "tests.python.conformance", "--log"]).arg(&log);
    command.args(["--page", "docs/operators.md"]).env("PYTHONPATH", "python").current_dir(&root);
    if !command.status().map_err(|e| format!("python: {e}"))?.success() {
        return Ok(false);
    }
    // The next run starts anew.
    std::fs::remove_file(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    Ok(true)
}
