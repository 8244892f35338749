//! `--sandbox`: the command works in it, and a hostile library cannot leave it. Skipped where the kernel lacks Landlock.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;
use tempfile::TempDir;

use crate::library::compile;
use crate::program::{answer, command, folder, mlp, onnxport, repository, text, write_model};

/// Skips the test if this system cannot confine a process.
fn require_sandbox() {
    let output = onnxport(&["explain", "OP007", "--sandbox"]);
    if !output.status.success() {
        onnxport_harness::skip(text(&output.stderr).lines().next().unwrap_or_default());
    }
}

/// The attempts of a hostile library and their outcomes; the command runs with `more` arguments.
fn attempts(more: &[&str]) -> BTreeMap<String, String> {
    let (_folder, at) = folder();
    let outside = TempDir::new_in(repository().join("target")).expect("a folder");
    fs::write(outside.path().join("secret"), "secret").expect("a file");
    fs::create_dir_all(at("out")).expect("a folder");
    let library = at("confined.so");
    compile("confined.c", library.as_ref(), &[]);
    let program = mlp();
    let program = program.to_str().expect("UTF-8");
    let (model, start) = (at("out/m.onnx"), ["convert", program, "--plugin", &library, "-o"]);
    let mut command = command(repository(), &[&start[..], &[&model], more].concat());
    command.env("OUTSIDE", outside.path()).env("INSIDE", at("out"));
    let output = command.output().expect("the binary starts");
    let lines = text(&output.stderr);
    let pairs = lines.lines().filter_map(|line| line.split_once(": "));
    pairs
        .filter(|(name, _)| {
            !name.starts_with("error") && !name.starts_with("cat") && !name.trim().starts_with("help")
        })
        .map(|(name, outcome)| (name.to_owned(), outcome.to_owned()))
        .collect()
}

#[test]
fn a_hostile_library_cannot_leave_it() {
    require_sandbox();
    let free = attempts(&[]);
    for attempt in ["read", "write", "create", "remove", "socket", "write inside"] {
        assert_eq!(free[attempt], "done", "without a sandbox: {attempt}");
    }
    let mut confined = attempts(&["--sandbox"]);
    assert!(confined.keys().eq(free.keys()), "{confined:?}");
    assert_eq!(confined.remove("write inside").as_deref(), Some("done"));
    let left: Vec<_> = confined.iter().filter(|(_, outcome)| *outcome != "denied").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn it_changes_no_result() {
    require_sandbox();
    let (_folder, at) = folder();
    let program = mlp();
    let program = program.to_str().expect("UTF-8");
    let mut models = Vec::new();
    for (model, more) in [("free.onnx", &[][..]), ("confined.onnx", &["--sandbox"])] {
        let start = ["convert", program, "--executor", "reference", "-o"];
        let (exit, said) = answer(repository(), &[&start[..], &[&at(model)], more].concat());
        assert_eq!(exit, Some(0), "{said}");
        models.push(fs::read(at(model)).expect("a model"));
    }
    assert!(models[0] == models[1]);
    write_model(
        at("m.onnx"),
        "opset 20\ngraph {\n  input %x: f32[2]\n  %y: f32[2] = Relu(%x)\n  output %y as y\n}\n",
    );
    for line in [
        &["check", program][..],
        &["inspect", &at("m.onnx")],
        &["optimize", &at("m.onnx"), "-o", &at("n.onnx")],
        &["run", &at("m.onnx"), "--random", "--executor", "reference", "--isolate"],
        &["report", &at("m.onnx"), "-o", &at("m.html")],
        &["draw", &at("m.onnx"), "-o", &at("m.svg")],
        &["plugin", "list"],
    ] {
        let (exit, said) = answer(repository(), &[line, &["--sandbox"]].concat());
        assert_eq!(exit, Some(0), "{line:?}: {said}");
    }
}

#[test]
fn an_output_beside_everything_is_refused() {
    require_sandbox();
    let program = mlp();
    let (exit, said) =
        answer(repository(), &["convert", program.to_str().expect("UTF-8"), "-o", "/m.onnx", "--sandbox"]);
    assert_eq!((exit, &said["diagnostics"][0]["code"]), (Some(2), &json!("OP007")), "{said}");
}
