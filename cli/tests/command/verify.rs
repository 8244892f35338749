//! Conversion and verification from outside. Tests that need ONNX Runtime are skipped without it.

use std::path::Path;

use onnxport_core::host::Host;
use onnxport_core::ir::Model;
use onnxport_core::tensor::DType;
use onnxport_core::verify::{Executor, Feed, Output as Tensor};
use onnxport_core::write::{self, WriteOptions};
use serde_json::Value;

use crate::library::cuda_parity;
use crate::program::{MLP, answer, command, folder, has_runtime, json, onnxport, repository, write_model};

/// Converts the MLP with further options; returns the folder and the path of the model.
fn convert(options: &[&str]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("mlp.onnx").to_str().expect("UTF-8").to_owned();
    let output = onnxport(&[&["convert", MLP, "-o", &model, "--no-verify"], options].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    (folder, model)
}

#[test]
fn a_reference_that_the_environment_misspells_is_named() {
    if !has_runtime() {
        return;
    }
    let (_folder, model) = convert(&["--quiet"]);
    let mut command = command(repository(), &["verify", &model, "--against", MLP]);
    let output = command.env("ONNXPORT_REFERENCE", "toch").output().expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("OP001") && said.contains("ONNXPORT_REFERENCE is `toch`"), "{said}");
}

#[test]
fn converting_says_what_it_did_or_says_nothing() {
    let (folder, model) = convert(&["--quiet"]);
    let again = folder.path().join("again.onnx");
    let again = again.to_str().expect("UTF-8");
    let loud = onnxport(&["convert", MLP, "-o", again, "--no-verify"]);
    let shown = String::from_utf8_lossy(&loud.stdout).into_owned();
    for expected in ["inputs", "aux_scale", "outputs", "opset 20", "nodes", "again.onnx", "time"] {
        assert!(shown.contains(expected), "{expected} is not in:\n{shown}");
    }
    assert!(shown.lines().count() < 25, "more than a screenful:\n{shown}");
    let quiet = onnxport(&["convert", MLP, "-o", again, "--no-verify", "--quiet"]);
    assert!(quiet.stdout.is_empty() && quiet.stderr.is_empty());
    let read = |path: &str| std::fs::read(path).expect("a model");
    assert_eq!(read(&model), read(again), "the same input gives the same bytes");
}

#[test]
fn names_and_dimensions_are_the_users() {
    let names = ["--input-names", "a,b,c,d,e", "--output-names", "y", "--dim", "x:0=batch"];
    let (_folder, model) = convert(&names);
    let model = &json(&onnxport(&["inspect", &model, "--json"]))["model"];
    let inputs = model["inputs"].as_array().expect("inputs");
    assert_eq!(inputs[0]["name"], "a");
    assert_eq!(inputs[4]["type"], "f32[batch, 8]");
    assert_eq!(model["outputs"][0]["name"], "y");
}

#[test]
fn a_model_agrees_with_the_recorded_values_also_under_other_names() {
    if !has_runtime() {
        return;
    }
    for options in [&[][..], &["--input-names", "a,b,c,d,e"], &["--external-data", "external"]] {
        let (_folder, model) = convert(options);
        let output = onnxport(&["verify", &model, "--against", MLP, "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
        let verification = &json(&output)["verification"];
        assert_eq!(verification["values_compared"], true);
        assert_eq!(verification["cases"].as_array().map(Vec::len), Some(3));
    }
}

#[test]
fn a_wrong_value_is_a_mismatch_with_its_index() {
    if !has_runtime() {
        return;
    }
    let (folder, model) = convert(&[]);
    let sidecar =
        std::fs::read(repository().join("examples/mlp/mlp.expected.safetensors")).expect("a sidecar");
    let length = u64::from_le_bytes(sidecar[..8].try_into().expect("eight bytes")) as usize;
    let header: Value = serde_json::from_slice(&sidecar[8..8 + length]).expect("a header");
    let start = header["traced/output/0"]["data_offsets"][0].as_u64().expect("an offset") as usize;
    let mut wrong = sidecar.clone();
    // The element [0, 3].
    wrong[8 + length + start + 12..][..4].copy_from_slice(&100.0f32.to_le_bytes());
    let path = folder.path().join("wrong.safetensors");
    std::fs::write(&path, wrong).expect("a file");
    let output = onnxport(&["verify", &model, "--against", path.to_str().expect("UTF-8")]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{message}");
    assert!(message.contains("error[OP701]") && message.contains("[0, 3]"), "{message}");
}

#[test]
fn without_recorded_values_the_model_must_run_at_other_sizes() {
    if !has_runtime() {
        return;
    }
    let (folder, model) = convert(&[]);
    let archive = folder.path().join("alone.pt2");
    std::fs::copy(repository().join(MLP), &archive).expect("a copy");
    let archive = archive.to_str().expect("UTF-8");
    let report = json(&onnxport(&["verify", &model, "--against", archive, "--json"]));
    assert_eq!(report["ok"], true, "{report}");
    assert_eq!(report["verification"]["values_compared"], false);
    let rows = |case: &Value| case["inputs"][0]["shape"][0].as_i64();
    let cases = report["verification"]["cases"].as_array().expect("cases");
    assert!(rows(&cases[0]) != rows(&cases[1]) && rows(&cases[1]) != rows(&cases[2]));
    let names: Vec<&str> = cases.iter().skip(3).filter_map(|case| case["name"].as_str()).collect();
    assert_eq!(names, ["minimum", "prime", "maximum"]);
}

#[test]
fn a_library_that_is_none_is_named() {
    let (folder, model) = convert(&[]);
    let library = folder.path().join("libonnxruntime.so");
    for content in [None, Some("not a library")] {
        if let Some(content) = content {
            std::fs::write(&library, content).expect("a file");
        }
        let library = library.to_str().expect("UTF-8");
        let output = onnxport(&["verify", &model, "--against", MLP, "--ort-library", library]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(6), "{message}");
        assert!(message.contains("error[OP702]") && message.contains(library), "{message}");
    }
}

#[test]
fn a_run_can_also_give_intermediate_values() {
    if !has_runtime() {
        return;
    }
    let text = "opset 20
graph {
  input %x: f32[3]
  %a: f32[3] = Relu(%x)
  %b: f32[3] = Neg(%a)
  output %b as b
}
";
    let model = Model::parse(text).expect("a model");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.onnx");
    write::write(&model, &path, &WriteOptions::default()).expect("a written model");
    let host = Host::new(&[&onnxport_ort::ROOT]).expect("the plugin attaches");
    let executor = host.plugins.iter().find_map(Executor::of).expect("it runs models");
    let runtime = executor.open(&[]).expect("there is a library");
    let bytes: Vec<u8> = [1.0_f32, -2.0, 3.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let feed = [Feed { name: "x", dtype: DType::F32, dims: vec![3], bytes: &bytes }];
    let mut session = runtime.load_with(&path, &["a"]).expect("the model is loaded");
    let mut got = Vec::new();
    let mut take = |output: Tensor<'_>| {
        let floats = output.bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
        got.push((output.name.to_owned(), floats.collect::<Vec<f32>>()));
    };
    session.run(&feed, &mut take).expect("it runs");
    assert_eq!(got, [("b".to_owned(), vec![-1.0, 0.0, -3.0]), ("a".to_owned(), vec![1.0, 0.0, 3.0])]);
    assert!(runtime.load_with(&path, &["nothing"]).is_err(), "there is no such value");
    // Weights beside the model are found although its bytes are handed over.
    let (_folder, external) = convert(&["--external-data", "external"]);
    let loaded = runtime.load_with(Path::new(&external), &["linear"]);
    assert!(loaded.is_ok(), "{:?}", loaded.err().map(|problem| problem.message));
}

#[test]
fn a_model_with_changed_weights_is_run_and_measured() {
    if !has_runtime() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("mlp.onnx");
    let model = model.to_str().expect("UTF-8");
    let f16 = json(&onnxport(&["convert", MLP, "-o", model, "--dtype", "f16", "--json"]));
    assert_eq!((&f16["exit"], &f16["verification"]["measured"]), (&Value::from(0), &Value::from(true)));
    let cases = f16["verification"]["cases"].as_array().expect("cases");
    assert!(cases.len() > 1, "other sizes run as well");
    for output in cases.iter().flat_map(|case| case["outputs"].as_array().expect("outputs")) {
        let cosine = output["difference"]["cosine"].as_f64().expect("a cosine");
        assert!(output["problem"].is_null() && cosine > 0.99, "{output}");
    }
    // The same values are judged where nothing was changed, or where the user asks for it.
    let plain = json(&onnxport(&["convert", MLP, "-o", model, "--json"]));
    assert_eq!(plain["verification"]["measured"], false);
    let int4 =
        ["convert", MLP, "-o", model, "--quantize", "int4", "--quantize-form", "matmulnbits", "--json"];
    let int4 = json(&onnxport(&int4));
    assert_eq!((&int4["exit"], &int4["verification"]["measured"]), (&Value::from(0), &Value::from(true)));
    // Weights are counted as they are stored.
    let stored = |said: &Value| said["weight_bytes"].as_u64().expect("a number of bytes");
    assert!(stored(&int4) < stored(&plain) && stored(&f16) < stored(&plain), "{int4}");
    // The model says so itself, so that it is not judged later either.
    let verify = ["verify", model, "--against", MLP, "--json"];
    let later = json(&onnxport(&verify));
    assert_eq!((&later["exit"], &later["verification"]["measured"]), (&Value::from(0), &Value::from(true)));
    let judged = onnxport(&[&verify[..], &["--rtol", "1e-3"]].concat());
    assert_eq!(judged.status.code(), Some(4));
}

/// No machine has as many GPUs, and few that run tests have one.
#[test]
fn without_its_gpu_a_comparer_is_an_error_or_the_host_compares() {
    let (_folder, model) = convert(&["--quiet"]);
    let verify = ["verify", &model, "--against", MLP, "--executor", "reference", "--json"];
    let chosen = ["--plugin", cuda_parity(), "--comparer", "cuda-parity", "--comparer-option", "device=9999"];
    let strict = onnxport(&[&verify[..], &chosen[..]].concat());
    assert_eq!(strict.status.code(), Some(4), "{}", String::from_utf8_lossy(&strict.stdout));
    assert_eq!(json(&strict)["diagnostics"][0]["code"], "OP720");
    let lenient = onnxport(&[&verify[..], &chosen[..], &["--comparer-fallback"]].concat());
    assert_eq!(lenient.status.code(), Some(0), "{}", String::from_utf8_lossy(&lenient.stdout));
    let (said, plain) = (json(&lenient), json(&onnxport(&verify)));
    let told = &said["diagnostics"][0];
    assert_eq!((&told["code"], &told["severity"]), (&"OP720".into(), &"warning".into()));
    let outputs = |said: &Value| said["verification"]["cases"][0]["outputs"].clone();
    assert_eq!(outputs(&said), outputs(&plain));
    let alone = onnxport(&[&verify[..], &["--comparer-fallback"]].concat());
    assert_eq!(alone.status.code(), Some(2), "there is nothing to fall back from");
}

#[test]
fn values_are_compared_by_the_plugin_that_has_them() {
    let (folder, at) = folder();
    write_model(at("m.onnx"), "opset 20\ngraph {\n  input %x: f32[4]\n  %0 = Exp(%x)\n  output %0 as y\n}\n");
    let bisect = |comparer: &str| {
        let sides = ["bisect", "m.onnx", "--against", "m.onnx", "--executor", "reference"];
        answer(folder.path(), &[&sides[..], &["--comparer", comparer]].concat())
    };
    let (code, said) = bisect("cuda-parity");
    assert_eq!(code, Some(2), "{said}");
    let said = &said["diagnostics"][0];
    assert_eq!((&said["code"], &said["help"].is_null()), (&"OP001".into(), &false), "{said}");
    // One that cannot compare them where they are hands them over, and that is said.
    let (code, said) = bisect("reference");
    assert_eq!(code, Some(0), "{said}");
    let told = &said["diagnostics"][0];
    assert_eq!((&told["code"], &told["severity"]), (&"OP720".into(), &"warning".into()), "{said}");
    let why = "results are not compared on the device";
    assert_eq!(said["bisect"]["values"]["not_in_place"], why, "{said}");
}

#[test]
fn a_model_whose_types_the_runtime_cannot_describe_is_refused() {
    let (_folder, at) = folder();
    let model = at("m.onnx");
    write_model(
        model.clone(),
        "opset 20\nsymbol n 1..\nsymbol m 0..\ngraph {\n  input %x: f32[n, 1, 2, 4]\n  \
         %0: f32[n, 1, m, 4] = MaxPool(%x) {kernel_shape = [5, 1]}\n  output %0 as y\n}\n",
    );
    let (code, said) = answer(repository(), &["run", &model, "--random", "--executor", "reference"]);
    let found = said["diagnostics"][0]["message"].as_str().unwrap_or_default();
    assert!(code == Some(4) && found.contains("window of 5 is longer than spatial axis 0"), "{said}");
    if !has_runtime() {
        return;
    }
    let both = ["--executor", "ort", "--executor", "reference"];
    for command in [&["run", &model, "--random"][..], &[&["verify", &model], &both[..]].concat()] {
        let (code, said) = answer(repository(), command);
        let found = &said["diagnostics"][0];
        assert_eq!((code, &found["code"]), (Some(4), &"OP703".into()), "{said}");
        assert!(found["message"].as_str().is_some_and(|text| text.contains("invalid type")), "{said}");
    }
}
