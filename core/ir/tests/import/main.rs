//! Models that were read and are written again are the same.

mod canonical;

use std::path::{Path, PathBuf};

use onnxport_ir::ir::Model;
use onnxport_ir::ir::import::import;
use onnxport_ir::valid;
use onnxport_ir::write::{WriteOptions, write};
use onnxport_proto::{GraphProto, ModelProto, OperatorSetIdProto, StringStringEntryProto, TensorProto};
use prost::Message;

/// The models of the ONNX package, where it is installed.
fn package() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Ok(versions) = std::fs::read_dir(root.join(".venv/lib")) else { return Vec::new() };
    let mut found = Vec::new();
    for version in versions.flatten() {
        models(&version.path().join("site-packages/onnx/backend/test/data"), &mut found);
    }
    // The package makes its node tests on demand: `xtask/gen/onnx_node_tests.py`.
    models(&root.join("target/onnx-tests/node"), &mut found);
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

/// Reads, validates and writes the model at `path`, and reads its text form; returns the first problem.
fn problem(path: &Path, folder: &Path) -> Option<String> {
    let model = match import(path) {
        Ok(model) => model,
        Err(error) => return Some(format!("{}: {}", error.code, error.message)),
    };
    if let Some(found) = valid::validate(&model, &valid::StatedTypes::default()).first() {
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
        return onnxport_harness::note("the onnx package is not in .venv");
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

/// The anonymous memory of this process in bytes, where the system says it.
fn anonymous() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
}

#[test]
fn a_model_of_20_gib_takes_the_memory_of_a_small_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.onnx");
    // A hole of the file system: it takes no space.
    std::fs::File::create(folder.path().join("w.bin")).unwrap().set_len(20 << 30).unwrap();
    let entry =
        |key: &str, value: String| StringStringEntryProto { key: Some(key.to_owned()), value: Some(value) };
    let weight = |index: u64| TensorProto {
        name: Some(format!("w{index}")),
        dims: vec![1 << 28],
        data_type: Some(1),
        data_location: Some(1),
        external_data: vec![
            entry("location", "w.bin".to_owned()),
            entry("offset", (index << 30).to_string()),
            entry("length", (1u64 << 30).to_string()),
        ],
        ..TensorProto::default()
    };
    let graph = GraphProto { initializer: (0..20).map(weight).collect(), ..GraphProto::default() };
    let opset = OperatorSetIdProto { domain: None, version: Some(21) };
    let proto = ModelProto {
        ir_version: Some(10),
        opset_import: vec![opset],
        graph: Some(graph),
        ..ModelProto::default()
    };
    std::fs::write(&path, proto.encode_to_vec()).unwrap();
    let before = anonymous();
    let model = import(&path).unwrap();
    assert!(valid::validate(&model, &valid::StatedTypes::default()).is_empty());
    let bytes: u64 = model.graph.initializers.iter().filter_map(|i| i.data.byte_len()).sum();
    assert_eq!(bytes, 20 << 30);
    if let (Some(before), Some(after)) = (before, anonymous()) {
        // Other tests of this process run at the same time.
        assert!(after.saturating_sub(before) < 512 << 20, "{before} bytes became {after}");
    }
}
