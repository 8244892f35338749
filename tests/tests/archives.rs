//! Real archives read completely: the committed ones, and those under `ONNXPORT_MODELS` if it is set.

use std::path::{Path, PathBuf};

use onnxport_core::program::{Arg, Body, InputKind};
use onnxport_core::pt2;

/// Every `.pt2` file below `folder`.
fn archives(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "pt2") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn calls(body: &Body) -> usize {
    let nested = |arg: &Arg| match arg {
        Arg::Graph(graph) => calls(&graph.body),
        _ => 0,
    };
    body.calls.iter().map(|call| 1 + call.args.iter().map(|a| nested(&a.arg)).sum::<usize>()).sum()
}

#[test]
fn real_archives_read_completely() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut paths = archives(&root.join("examples"));
    paths.extend(archives(&root.join("tests/golden")));
    paths.extend(archives(&root.join("tests/data")));
    if let Some(models) = std::env::var_os("ONNXPORT_MODELS") {
        paths.extend(archives(Path::new(&models)));
    }
    assert!(!paths.is_empty());
    let mut failures = Vec::new();
    for path in &paths {
        let start = std::time::Instant::now();
        match check(path) {
            Ok(summary) => println!("{}: {summary}, {:?}", path.display(), start.elapsed()),
            Err(problem) => failures.push(format!("{}: {problem}", path.display())),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check(path: &Path) -> Result<String, String> {
    let text = |report: onnxport_core::diagnose::Report| {
        let lines = report.diagnostics.iter().map(|d| format!("{}: {} {:?}", d.code, d.message, d.notes));
        lines.collect::<Vec<_>>().join("\n")
    };
    let archive = pt2::read(path).map_err(text)?;
    let program = &archive.program;
    for tensor in program.tensors.values() {
        tensor.read().ok_or("a tensor reaches beyond its bytes")?;
    }
    for call in &program.body.calls {
        let origin = program.origins.get(call.origin);
        if origin.node.is_empty() || call.target.starts_with("torch.ops") {
            return Err(format!("{origin:?} of {}", call.target));
        }
    }
    let users = program.signature.inputs.iter().filter(|i| i.kind == InputKind::User).count();
    let samples = match archive.sample_inputs().map_err(text)? {
        Some(samples) => samples.flatten(&program.signature).map_err(|d| d.message)?.len(),
        None => return Err("no sample inputs".to_owned()),
    };
    if samples < users {
        return Err(format!("{samples} samples for {users} inputs"));
    }
    Ok(format!("{} calls, {} bytes of weights", calls(&program.body), archive.weight_bytes))
}
