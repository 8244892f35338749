//! `cargo xtask gen`: the contract, and the tables that are generated from PyTorch and ONNX.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{contract, python, root, target};

/// Each script in `xtask/gen` with the file that it writes.
const TABLES: &[(&str, &str)] = &[
    ("traced.py", "plugins/aten/decompositions/traced.txt"),
    ("aten_schemas.py", "plugins/aten/schemas.txt"),
    ("torchvision_schemas.py", "plugins/torchvision/schemas.txt"),
    ("onnxruntime_kernels.py", "core/src/legalise/targets/onnxruntime-cpu.txt"),
    ("onnx_opsets.py", "core/ir/src/ir/opset/generated.rs"),
    ("onnx_operators.py", "plugin-sdk/macros/src/operators.rs"),
    ("operator_names.py", "core/ir/src/op/generated.rs"),
    ("onnx_stubs.py", "python/onnxport/_onnx.pyi"),
    ("onnx_bodies.py", "core/ir/src/ops/body/generated.txt"),
    ("unsafe_inventory.py", "docs/unsafe.md"),
];

/// The action for the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Write them.
    Write,
    /// Say whether they are current.
    Check,
}

/// Writes or checks every table. Returns whether they are current.
pub(crate) fn run(mode: Mode) -> Result<bool, String> {
    let root = root();
    // First: it needs no Python.
    let current = contract::run(&root, mode)?;
    let python = python::environment(&root)?;
    if mode == Mode::Write {
        for (script, output) in TABLES {
            println!("{output}");
            generate(&root, &python, script, &root.join(output))?;
        }
        return Ok(true);
    }
    let stale = stale(&root, &python)?;
    for output in &stale {
        println!("{output} is not current: run `cargo xtask gen`");
    }
    Ok(current && stale.is_empty())
}

/// The tables that differ from the output of their scripts.
pub(crate) fn stale(root: &Path, python: &Path) -> Result<Vec<String>, String> {
    let folder = target().join("xtask-gen");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut stale = Vec::new();
    for (script, output) in TABLES {
        let Some(name) = Path::new(output).file_name() else { continue };
        let fresh = folder.join(name);
        generate(root, python, script, &fresh)?;
        let read = |path: &Path| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
        if read(&fresh)? != read(&root.join(output))? {
            stale.push((*output).to_owned());
        }
    }
    Ok(stale)
}

fn generate(root: &Path, python: &Path, script: &str, output: &Path) -> Result<(), String> {
    let script = root.join("xtask/gen").join(script);
    let status = Command::new(python).arg(&script).arg(output).current_dir(root).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{}: {status}", script.display())),
        Err(error) => Err(format!("{}: {error}", script.display())),
    }
}
