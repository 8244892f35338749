//! `onnxport profile`: where the time of a model goes.

use std::path::Path;

use onnxport_core::profile::{Profile, Times};
use serde::Deserialize;
use serde_json::Value;

use crate::program::{MLP, answer, folder, has_runtime, onnxport, repository, succeed};

/// The code that a command fails with, and its exit code.
fn refused(arguments: &[&str]) -> (String, Option<i32>) {
    let (exit, said) = answer(repository(), arguments);
    assert_eq!(said["ok"], false, "{said}");
    let errors = said["diagnostics"].as_array().into_iter().flatten().filter(|d| d["severity"] == "error");
    let code = errors.map(|error| error["code"].as_str().unwrap_or_default()).next().unwrap_or_default();
    (code.to_owned(), exit)
}

/// A folder with the MLP as `m.onnx`, which says so much of its program.
fn mlp(metadata: &str) -> (tempfile::TempDir, impl Fn(&str) -> String + use<>) {
    let (folder, at) = folder();
    succeed(&["convert", MLP, "-o", &at("m.onnx"), "--no-verify", "--metadata", metadata]);
    (folder, at)
}

fn profile(said: &Value) -> Profile {
    Profile::deserialize(&said["profile"]).expect("a profile")
}

#[test]
fn times_are_those_of_modules_and_lines() {
    if !has_runtime() {
        return;
    }
    let (_folder, at) = mlp("full");
    let report = at("report.json");
    let options = ["--dim", "x:0=3", "--runs", "7", "--threads", "1", "--report", &report];
    let said = succeed(&[&["profile", &at("m.onnx")], &options[..]].concat());
    let told = profile(&said);
    assert_eq!((told.model.as_str(), told.runs), ("m.onnx", 7));
    assert!(told.executor.starts_with("ONNX Runtime") && !told.executor.contains('/'), "{}", told.executor);
    assert!(said["diagnostics"].as_array().is_some_and(Vec::is_empty), "{said}");

    assert!(told.nodes.iter().all(|node| node.runs.len() == 7 && node.calls == 1));
    assert!(told.nodes.iter().all(|node| node.times == Times::from_runs(&node.runs)));
    assert!(told.attributed.none.abs() < 1e-12, "{:?}", told.attributed);
    let of = |rows: &[onnxport_core::profile::Row]| {
        let mut keys: Vec<String> = rows.iter().filter_map(|row| row.key.clone()).collect();
        keys.sort();
        (keys, rows.iter().map(|row| row.nodes).sum::<usize>())
    };
    let (operators, counted) = of(&told.operators);
    assert!(operators.contains(&"Gemm".to_owned()) && counted == told.nodes.len(), "{operators:?}");
    let (modules, _) = of(&told.modules);
    assert!(
        modules.contains(&String::new()) && modules.iter().any(|module| !module.is_empty()),
        "{modules:?}"
    );
    let root = told.modules.iter().find(|row| row.key.as_deref() == Some("")).expect("the root");
    assert_eq!(root.nodes, told.nodes.len(), "the root holds all");
    assert!((root.share - 1.0).abs() < 1e-12, "{root:?}");
    let (lines, counted) = of(&told.lines);
    assert!(!lines.is_empty() && counted == told.nodes.len(), "{lines:?}");

    let read = Profile::read(Path::new(&report)).expect("it reads what it wrote");
    assert_eq!(read, told);
    let again = succeed(&["profile", &report]);
    assert_eq!(profile(&again), told);
}

#[test]
fn two_models_are_run_in_turn() {
    if !has_runtime() {
        return;
    }
    let (_folder, at) = mlp("full");
    let other = at("n.onnx");
    succeed(&["convert", MLP, "-o", &other, "--no-verify", "--metadata", "full", "--no-optimize"]);
    let (saved, page) = (at("saved.json"), at("page.html"));
    let options = ["--dim", "x:0=3", "--runs", "5", "--report", &saved, "--report", &page];
    let said = succeed(&[&["profile", &at("m.onnx"), "--against", &other], &options[..]].concat());
    assert_eq!((&said["changes"]["in_turn"], &said["against"]["model"]), (&true.into(), &"n.onnx".into()));
    let rows = said["changes"]["modules"].as_array().expect("modules");
    for row in rows {
        let [before, after] = ["before", "after"].map(|key| row[key]["median"].as_f64().unwrap_or(0.0));
        assert!((row["difference"].as_f64().expect("a number") - (after - before)).abs() < 1e-9, "{row}");
    }
    assert!(std::fs::read_to_string(&page).expect("a page").contains("Changes by module"));

    let said = succeed(&["profile", &saved, "--against", &saved]);
    assert_eq!(said["changes"]["in_turn"], false);
    let verdicts =
        said["changes"]["operators"].as_array().expect("operators").iter().map(|row| &row["verdict"]);
    assert!(verdicts.into_iter().all(|verdict| verdict == "noise"), "a profile is as fast as itself");
    // The file holds both; the first one is read.
    assert_eq!(said["profile"], said["against"]);
}

#[test]
fn a_process_of_its_own_measures_as_well() {
    if !has_runtime() {
        return;
    }
    let (_folder, at) = mlp("names");
    let said = succeed(&["profile", &at("m.onnx"), "--dim", "x:0=3", "--runs", "2", "--isolate"]);
    let told = profile(&said);
    assert_eq!((told.runs, told.executor.contains("process")), (2, false));
    assert!(!told.nodes.is_empty());
}

#[test]
fn sizes_that_are_not_stated_are_drawn() {
    if !has_runtime() {
        return;
    }
    let (_folder, at) = mlp("none");
    let model = at("m.onnx");
    let said = succeed(&["profile", &model, "--runs", "2"]);
    let notes = said["diagnostics"].as_array().expect("diagnostics");
    let told = |note: &Value| note["message"].as_str().is_some_and(|text| text.contains("sizes"));
    assert!(notes.iter().any(told), "{notes:?}");
    succeed(&["diff", &model, &model, "--values"]);
    succeed(&["bisect", &model, "--against", &model]);
}

#[test]
fn what_is_not_there_is_refused() {
    let (_folder, at) = mlp("none");
    let model = at("m.onnx");
    let size = ["--dim", "x:0=3"];
    assert_eq!(refused(&["profile", &at("missing.onnx")]), ("OP101".to_owned(), Some(5)));
    assert_eq!(refused(&["profile", "README.md"]).0, "OP110");
    let reference = refused(&[&["profile", &model, "--executor", "reference"], &size[..]].concat());
    assert_eq!(reference, ("OP702".to_owned(), Some(6)), "it does not measure");
    let saved = at("saved.json");
    for text in ["{", "{}", r#"{"profile": {"format": 9}}"#, r#"{"format": 1}"#] {
        std::fs::write(&saved, text).expect("it is written");
        assert_eq!(refused(&["profile", &saved]).0, "OP713", "{text}");
    }
    let wrong = onnxport(&["profile", &model, "--runs", "0"]);
    assert_eq!(wrong.status.code(), Some(2));
    if !has_runtime() {
        return;
    }
    let plain = succeed(&[&["profile", &model], &size[..]].concat());
    assert_eq!(plain["diagnostics"][0]["code"], "OP713", "nodes name nothing, which is said");
    for by in ["module", "line"] {
        let asked = refused(&[&["profile", &model, "--by", by, "--runs", "1"], &size[..]].concat());
        assert_eq!(asked.0, "OP713", "{by}");
    }
    let library = ["--ort-library", "missing.so"];
    assert_eq!(refused(&[&["profile", &model], &size[..], &library[..]].concat()).0, "OP702");
}
