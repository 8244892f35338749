//! `onnxport run`, and the reference evaluator as its executor.

use std::path::Path;

use onnxport_core::ir::Model;
use onnxport_core::run::Given;
use onnxport_core::write::{WriteOptions, write};
use serde_json::Value;

use crate::library::cuda_parity;
use crate::program::{MLP, folder, json, onnxport, write_model};

/// A folder with the MLP as an ONNX model, whose dimension is called `batch`.
fn mlp() -> (tempfile::TempDir, impl Fn(&str) -> String) {
    let (folder, at) = folder();
    let options = ["--dim", "x:0=batch", "--executor", "reference", "--require-verified"];
    let output = onnxport(&[&["convert", MLP, "-o", &at("m.onnx")], &options[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    (folder, at)
}

fn values(path: &str) -> Vec<Vec<f32>> {
    let mut given = Given::default();
    given.add_all(Path::new(path)).expect("a file of tensors");
    let read = |name: &str| {
        let bytes = given.get(name).and_then(|tensor| Some(tensor.read()?.into_owned())).expect("a tensor");
        bytes.as_chunks::<4>().0.iter().map(|x| f32::from_le_bytes(*x)).collect()
    };
    given.names().map(read).collect()
}

#[test]
fn the_reference_verifies_where_nothing_else_does() {
    let (_folder, at) = mlp();
    let verify = |more: &[&str]| {
        onnxport(&[&["verify", &at("m.onnx"), "--against", MLP, "--json", "--executor"], more].concat())
    };
    let output = verify(&["reference"]);
    let said = json(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said["verification"]["cases"].as_array().map(Vec::len), Some(3));
    assert!(said["verification"]["executor"].as_str().is_some_and(|by| by.contains("reference")));
    let short = verify(&["reference", "--executor-option", "steps=10"]);
    assert_eq!((short.status.code(), &json(&short)["diagnostics"][0]["code"]), (Some(6), &"OP702".into()));
    let unknown = verify(&["nobody"]);
    assert_eq!(
        (unknown.status.code(), &json(&unknown)["diagnostics"][0]["code"]),
        (Some(2), &"OP807".into())
    );
    let misplaced = verify(&["reference", "--ort-library", "x.so"]);
    assert_eq!(misplaced.status.code(), Some(2));
}

/// There is no silent fallback to another device.
#[test]
fn a_gpu_that_is_missing_is_an_error_with_a_next_step() {
    let (_folder, at) = mlp();
    let verify = ["verify", &at("m.onnx"), "--against", MLP, "--json"];
    let output = onnxport(&[&verify[..], &["--plugin", cuda_parity(), "--executor", "cuda-parity"]].concat());
    let said = json(&output);
    if output.status.code() == Some(0) {
        assert!(
            said["verification"]["executor"].as_str().is_some_and(|by| by.contains("TF32 off")),
            "{said}"
        );
        return onnxport_harness::note("there is a GPU");
    }
    let found = &said["diagnostics"][0];
    assert_eq!((output.status.code(), &found["code"]), (Some(6), &"OP702".into()), "{said}");
    assert!(found["message"].as_str().is_some_and(|m| m.contains("CUDA") || m.contains("NVRTC")), "{said}");
    assert!(found["help"].as_str().is_some_and(|help| help.contains("--executor")), "{said}");
}

#[test]
fn a_run_shows_and_writes_what_comes_out() {
    let (_folder, at) = mlp();
    let (model, out, again) = (at("m.onnx"), at("out.safetensors"), at("again.safetensors"));
    let run = |more: &[&str]| onnxport(&[&["run", &model, "--executor", "reference"], more].concat());
    let drawn = run(&["--random", "--seed", "3", "--dim", "batch=2", "-o", &out]);
    let text = String::from_utf8_lossy(&drawn.stdout).into_owned();
    assert_eq!(drawn.status.code(), Some(0), "{}", String::from_utf8_lossy(&drawn.stderr));
    for expected in ["inputs", "outputs", "f32[2, 8]", "mean", "NaN", "the reference evaluator", "wrote"] {
        assert!(text.contains(expected), "{expected} is not in:\n{text}");
    }
    run(&["--random", "--seed", "3", "--dim", "batch=2", "-o", &again]);
    assert_eq!(std::fs::read(&out).expect("a file"), std::fs::read(&again).expect("a file"));
    let chosen = run(&["--random"]);
    let said = String::from_utf8_lossy(&chosen.stderr).into_owned();
    assert!(chosen.status.success() && said.contains("randomly chosen sizes: x[4, 8]"), "{said}");
    let missing = run(&["--json"]);
    let said = json(&missing);
    assert_eq!(
        (missing.status.code(), &said["diagnostics"][0]["code"]),
        (Some(2), &"OP710".into()),
        "{said}"
    );
    let source = run(&["--random", "--dim", "batch=2", "-o", &model]);
    assert_eq!(source.status.code(), Some(5), "the model is not replaced");
    if onnxport_ort::discover::find().is_none() {
        return onnxport_harness::note("no ONNX Runtime library was found to compare with");
    }
    let ort = onnxport(&["run", &model, "--random", "--seed", "3", "--dim", "batch=2", "-o", &again]);
    assert_eq!(ort.status.code(), Some(0), "{}", String::from_utf8_lossy(&ort.stderr));
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-6 + 1e-6 * b.abs();
    let (reference, ort) = (values(&out), values(&again));
    assert_eq!(reference.len(), ort.len());
    assert!(reference.iter().zip(&ort).all(|(a, b)| a.len() == b.len() && a.iter().zip(b).all(near)));
}

#[test]
fn functions_that_call_each_other_twice_are_read_and_written_but_not_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let graph = "graph {\n  input %x: f32[2]\n  %0: f32[2] = f::E39(%x)\n  output %0 as y\n}\n";
    let functions = (0..40).map(|n| {
        let callee = if n == 0 { "Neg".to_owned() } else { format!("f::E{}", n - 1) };
        let body = format!("  input %a\n  %0 = {callee}(%a)\n  %1 = {callee}(%0)\n  output %1\n");
        format!("function f::E{n}() {{\n{body}}}\n")
    });
    let text = format!("opset 20\nopset f 1\n{graph}{}", functions.collect::<String>());
    let model = Model::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    write(&model, Path::new(&at("m.onnx")), &WriteOptions::default()).expect("it is written");
    for command in [&["inspect", &at("m.onnx")][..], &["optimize", &at("m.onnx"), "-o", &at("n.onnx")]] {
        let output = onnxport(command);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for command in [&["run", &at("n.onnx"), "--random"][..], &["verify", &at("n.onnx"), "--against", MLP]] {
        let output = onnxport(&[command, &["--executor", "reference"]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(6), "{said}");
        assert!(said.contains("OP702") && said.contains("its 81 nodes become 2199023255551"), "{said}");
    }
}

#[test]
fn optimize_applies_rules_unless_it_is_told_not_to() {
    let (_folder, at) = mlp();
    let body = "graph {\n  input %x: f32[2]\n  %a: f32[2] = Neg(%x)\n  %b: f32[2] = Neg(%a)\n  \
                %c: f32[2] = Relu(%b)\n  output %c as y\n}\n";
    write_model(at("m.onnx"), &format!("opset 20\n{body}"));
    let said = json(&onnxport(&["optimize", &at("m.onnx"), "-o", &at("n.onnx"), "--json"]));
    assert_eq!((&said["nodes"], &said["optimised"]["applied"]), (&1.into(), &1.into()));
    assert_eq!(said["optimised"]["counts"][0]["name"], "negate_twice");
    let off = ["optimize", &at("m.onnx"), "-o", &at("n.onnx"), "--json", "--no-optimize"];
    let said = json(&onnxport(&off));
    assert_eq!((&said["nodes"], &said["optimised"]), (&3.into(), &Value::Null));
    write_model(at("old.onnx"), &format!("opset 12\n{body}"));
    let said = json(&onnxport(&["optimize", &at("old.onnx"), "-o", &at("n.onnx"), "--json"]));
    assert_eq!(said["nodes"], 3);
    assert_eq!(
        (&said["diagnostics"][0]["code"], &said["diagnostics"][0]["severity"]),
        (&"OP412".into(), &"note".into())
    );
}
