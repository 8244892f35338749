//! `onnxport bisect --modules`, with a Python that is a script.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use crate::program::{command, json};

const TREE: &str = r#"{"ok": false, "conversions": 3, "found": ["layers.1"], "root": {"path": "", "kind": "Deep",
    "calls": 1, "verdict": "disagrees", "reason": null, "max_abs_diff": 0.25, "max_rel_diff": "inf", "like": null,
    "begins": false, "diagnostics": [], "children": [
    {"path": "layers.0", "kind": "Layer", "calls": 1, "verdict": "not looked at", "reason": null,
    "max_abs_diff": null, "max_rel_diff": null, "like": null, "begins": false, "children": [], "diagnostics": []},
    {"path": "layers.1", "kind": "Layer", "calls": 1, "verdict": "does not convert", "reason": "no lowering",
    "max_abs_diff": null, "max_rel_diff": null, "like": null, "begins": true, "children": [], "diagnostics": [
        {"severity": "error", "code": "OP301", "message": "`aten.frexp.Tensor` has no lowering"}]}]}}"#;

/// Runs the command with a `python3` that answers `messages`.
fn bisect(messages: &[&str], more: &[&str]) -> Output {
    bisect_in(&tempfile::tempdir().expect("a folder"), messages, more)
}

/// As above in `folder`, where the file `request` holds the request afterwards.
fn bisect_in(folder: &tempfile::TempDir, messages: &[&str], more: &[&str]) -> Output {
    let [answers, python] = ["answers", "python3"].map(|name| folder.path().join(name));
    let message = |text: &&str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    fs::write(&answers, messages.iter().flat_map(message).collect::<Vec<u8>>()).expect("a file");
    fs::write(&python, format!("{ASKED}/bin/cat '{}'\n", answers.display())).expect("a script");
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).expect("a script");
    fs::write(folder.path().join("m.pt2"), "").expect("a file");
    let mut command = command(folder.path(), &["bisect", "--modules", "m.pt2"]);
    command.args(more);
    for variable in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        command.env_remove(variable);
    }
    command.env("PATH", folder.path()).env("HOME", folder.path()).output().expect("the binary starts")
}

/// Reads the script, a message with its length first, and then the request in two reads.
const ASKED: &str = "#!/bin/sh
size=$(/bin/dd bs=1 count=8 2>&- | /usr/bin/od -An -tu8)
/bin/dd bs=1 count=$((size)) of=script 2>&-
/bin/dd bs=1 count=8 of=length 2>&-
/bin/dd bs=4096 count=1 of=request 2>&-
";

const GREETING: &str = r#"{"torch": "2.15.0", "onnxport": "1.0"}"#;

#[test]
fn the_tree_is_printed() {
    let output = bisect(&[GREETING, TREE], &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    let (tree, last) = text.split_once("compared").expect("a summary");
    let expected = "\
(the model) (Deep)  disagrees; absolute error up to 2.50e-1, relative inf
  layers.1 (Layer)  does not convert; no lowering; starts here
  1 more            not looked at
";
    assert_eq!(tree, expected);
    assert!(last.starts_with("  3 conversions by onnxport 1.0 and PyTorch 2.15.0 ("), "{last}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("error[OP712]: `layers.1` (Layer) does not convert"), "{said}");
    assert!(said.contains("OP301: `aten.frexp.Tensor` has no lowering"), "{said}");
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn the_tree_is_data() {
    let output = bisect(&[GREETING, TREE], &["--json"]);
    let said = json(&output);
    let root = &said["modules"]["root"];
    assert_eq!((&root["max_rel_diff"], &said["exit"]), (&"inf".into(), &4.into()));
    assert_eq!(root["children"][1]["diagnostics"][0]["code"], "OP301");
    let sound =
        TREE.replace("\"ok\": false", "\"ok\": true").replace("\"begins\": true", "\"begins\": false");
    assert_eq!(bisect(&[GREETING, &sound], &[]).status.code(), Some(0));
}

#[test]
fn the_tree_is_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let step = r#"{"step": "converting layers.1"}"#;
    let more = ["--report", "tree.html", "--report", "tree.json", "--report", "tree.txt"];
    let output = bisect_in(&folder, &[GREETING, step, TREE], &more);
    assert_eq!(output.status.code(), Some(4));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("a report");
    let page = read("tree.html");
    assert!(
        page.contains("layers.1 does not convert") && page.contains("`aten.frexp.Tensor` has no lowering")
    );
    assert!(!page.contains("http://") && !page.contains("https://"));
    assert!(read("tree.txt").contains("starts here"));
    let said: serde_json::Value = serde_json::from_str(&read("tree.json")).expect("JSON");
    assert_eq!(said["modules"]["root"]["children"][1]["begins"], true);
}

#[test]
fn options_of_plugins_are_handed_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let more =
        ["--use", "aten.add.Tensor=mine", "--plugin-option", "mine.depth=3", "--on-plugin-panic", "stop"];
    let output = bisect_in(&folder, &[GREETING, TREE], &more);
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
    let request = fs::read(folder.path().join("request")).expect("a request");
    let said: serde_json::Value = serde_json::from_slice(&request).expect("JSON");
    let expected = serde_json::json!({
        "use": ["aten.add.Tensor=mine"], "plugin_option": ["mine.depth=3"], "on_plugin_panic": "stop",
    });
    assert_eq!(said["options"], expected);
}

#[test]
fn the_target_is_handed_on() {
    for target in ["onnxruntime-cpu", "npu.target"] {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("npu.target"), "target npu\n").expect("a file");
        let output = bisect_in(&folder, &[GREETING, TREE], &["--target", target]);
        assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
        let request = fs::read(folder.path().join("request")).expect("a request");
        let said: serde_json::Value = serde_json::from_slice(&request).expect("JSON");
        assert_eq!(said["options"], serde_json::json!({"target": target}));
    }
}

#[test]
fn a_python_that_cannot_is_an_error() {
    let output = bisect(&[r#"{"error": "ModuleNotFoundError: No module named 'torch'"}"#], &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("error[OP706]") && said.contains("No module named 'torch'"), "{said}");
    assert!(said.contains("activate its environment"), "{said}");
    assert_eq!(output.status.code(), Some(6));
}

#[test]
fn options_of_other_searches_are_refused() {
    for more in [
        &["--passes"][..],
        &["--against", "a.onnx"],
        &["--seed", "3"],
        &["--executor", "ort"],
        &["--target", "nowhere"],
    ] {
        let output = bisect(&[], more);
        assert_eq!(output.status.code(), Some(2), "{more:?}");
    }
}
