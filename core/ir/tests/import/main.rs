//! Models that were read and are written again are the same.

mod canonical;

use std::path::{Path, PathBuf};

use onnxport_ir::ir::import::import;
use onnxport_ir::ir::{Model, validate};
use onnxport_ir::write::{WriteOptions, write};

/// The models of the ONNX package, where it is installed.
fn package() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Ok(versions) = std::fs::read_dir(root.join(".venv/lib")) else { return Vec::new() };
    let mut found = Vec::new();
    for version in versions.flatten() {
        models(&version.path().join("site-packages/onnx/backend/test/data"), &mut found);
    }
    // The package makes its node tests on demand: `python tests/data/node_cases.py`.
    models(&root.join("target/onnx-models"), &mut found);
    found.sort();
    found
}

fn models(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            models(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "onnx") {
            found.push(path);
        }
    }
}

/// Reads, validates and writes the model at `path`, and reads its text form; what is not right about that.
fn problem(path: &Path, folder: &Path) -> Option<String> {
    let model = match import(path) {
        Ok(model) => model,
        Err(error) => return Some(format!("{}: {}", error.code, error.message)),
    };
    if let Some(found) = validate::validate(&model, &validate::Stated::default()).first() {
        return Some(format!("{}: {}", found.code, found.message));
    }
    let text = model.to_text();
    match Model::parse(&text) {
        Ok(read) if read.to_text() == text => {}
        Ok(_) => return Some("its text reads back as another model".to_owned()),
        Err(error) => return Some(format!("its text does not read back: {error}")),
    }
    let copy = folder.join("copy.onnx");
    if let Err(report) = write(&model, &copy, &WriteOptions::default()) {
        return Some(format!("it cannot be written: {}", report.diagnostics[0].message));
    }
    let (a, b) = canonical::difference(&canonical::model(path), &canonical::model(&copy))?;
    Some(format!("it is another model:\n  - {a}\n  + {b}"))
}

#[test]
fn the_models_of_the_onnx_package_are_written_as_they_were_read() {
    let paths = package();
    if paths.is_empty() {
        eprintln!("not run: the ONNX package is not in .venv");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut problems = Vec::new();
    for path in &paths {
        if let Some(problem) = problem(path, folder.path()) {
            let name: PathBuf =
                path.components().rev().take(3).collect::<Vec<_>>().into_iter().rev().collect();
            problems.push(format!("{}: {problem}", name.display()));
        }
    }
    println!("{} models, {} problems", paths.len(), problems.len());
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), paths.len(), problems.join("\n"));
}
