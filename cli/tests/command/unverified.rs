//! A model that fails its verification is not published. Tests that need ONNX Runtime are skipped without it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use onnxport_core::ir::Model;
use onnxport_core::write::{self, WriteOptions};
use onnxport_proto::tensor_shape_proto::dimension::Value as Extent;
use onnxport_proto::{ModelProto, type_proto};
use prost::Message;
use serde_json::Value;

use crate::program::{answer, command, has_runtime, json, repository};

/// Every file below a folder, hidden ones as well, and its bytes.
fn listing(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(listing(&path));
        } else {
            files.insert(path.clone(), fs::read(path).expect("a file"));
        }
    }
    files
}

/// A folder with `good.pt2`, and with `bad.pt2`, in which a recorded value is wrong.
fn programs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let data = repository().join("tests/files/data");
    for name in ["good", "bad"] {
        for kind in ["pt2", "expected.safetensors"] {
            let from = data.join(format!("twins.{kind}"));
            fs::copy(from, folder.path().join(format!("{name}.{kind}"))).expect("a copy");
        }
    }
    let path = folder.path().join("bad.expected.safetensors");
    let mut bytes = fs::read(&path).expect("a sidecar");
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).expect("a header");
    let start = header["traced/output/0"]["data_offsets"][0].as_u64().expect("an offset") as usize;
    bytes[8 + length + start..][..4].copy_from_slice(&100.0f32.to_le_bytes());
    fs::write(path, bytes).expect("a sidecar");
    folder
}

const MODES: [&[&str]; 3] = [
    &["--external-data", "inline"],
    &["--external-data", "external", "--manifest"],
    &["--external-data", "external", "--shard-size", "1kB"],
];

#[test]
fn a_mismatch_leaves_the_old_model() {
    if !has_runtime() {
        return;
    }
    for old in MODES {
        for new in MODES {
            let folder = programs();
            let folder = folder.path();
            let convert = |program, more: &[&str]| {
                answer(folder, &[&["convert", program, "-o", "m.onnx"], more].concat())
            };
            let (code, said) = convert("good.pt2", old);
            assert_eq!(code, Some(0), "{said}");
            let before = listing(folder);
            let (code, said) = convert("bad.pt2", new);
            assert_eq!(code, Some(4), "{said}");
            assert!(said["files"].is_null() && said["verification"].is_object(), "{said}");
            let message = said["diagnostics"].as_array().and_then(|all| all.last()).map(|d| &d["message"]);
            assert_eq!(message, Some(&"`m.onnx` was not written".into()));
            assert_eq!(listing(folder), before);
            let (code, said) = convert("bad.pt2", &[new, &["--keep-failed"]].concat());
            assert_eq!((code, &said["files"][0]), (Some(4), &"m.failed.onnx".into()), "{said}");
            // It is the model that failed, with data of its own; the other one is untouched.
            let after = listing(folder);
            assert!(before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)));
            let kept = after.keys().filter(|path| !before.contains_key(*path));
            let kept: Vec<OsString> = kept.filter_map(|path| Some(path.file_name()?.to_owned())).collect();
            assert_eq!(kept.len(), 1 + said["files"].as_array().map_or(0, Vec::len) - 1, "{kept:?}");
            assert!(kept.iter().all(|name| name.to_string_lossy().contains(".failed")), "{kept:?}");
            let check = |sidecar| answer(folder, &["verify", "m.failed.onnx", "--against", sidecar]).0;
            assert_eq!((check("good.pt2"), check("bad.pt2")), (Some(0), Some(4)));
        }
    }
}

#[test]
fn a_package_with_a_mismatch_is_not_there() {
    if !has_runtime() {
        return;
    }
    let folder = programs();
    let folder = folder.path();
    let before = listing(folder);
    let package = ["package", "a=good.pt2", "b=bad.pt2", "-o", "out"];
    let (code, said) = answer(folder, &package);
    assert_eq!(code, Some(4), "{said}");
    assert!(said["models"][0]["path"].is_null() && said["models"][1]["verification"].is_object(), "{said}");
    assert_eq!(listing(folder), before);
    assert!(!folder.join("out").exists());
    let keep = [&package[..], &["--keep-failed"]].concat();
    let (code, said) = answer(folder, &keep);
    assert_eq!((code, &said["models"][1]["path"]), (Some(4), &"out.failed/b.onnx".into()), "{said}");
    assert!(!folder.join("out").exists());
    assert_eq!(answer(folder, &["verify", "out.failed/b.onnx", "--against", "good.pt2"]).0, Some(0));
    // Files that an earlier run kept are not replaced, and that is known before anything is converted.
    let (code, said) = answer(folder, &keep);
    assert_eq!((code, &said["diagnostics"][0]["code"]), (Some(5), &"OP601".into()));
    assert_eq!(answer(folder, &["package", "a=good.pt2", "-o", "out"]).0, Some(0));
}

#[test]
fn what_cannot_be_verified_is_refused_where_it_is_required() {
    let folder = programs();
    let folder = folder.path();
    let before = listing(folder);
    let convert = ["convert", "good.pt2", "-o", "m.onnx", "--require-verified"];
    let without = |arguments: &[&str]| {
        let mut command = command(folder, &[arguments, &["--json"]].concat());
        command.env_clear().env("ORT_DYLIB_PATH", folder.join("none.so"));
        let output = command.output().expect("the binary starts");
        (output.status.code(), json(&output))
    };
    for arguments in [&convert[..], &["package", "good.pt2", "-o", "out", "--require-verified"]] {
        let (code, said) = without(arguments);
        assert_eq!((code, &said["diagnostics"][0]["code"]), (Some(6), &"OP702".into()), "{said}");
        assert_eq!(listing(folder), before);
    }
    if !has_runtime() {
        return;
    }
    // Nothing to compare with, and a model that waits for its weights.
    fs::remove_file(folder.join("good.expected.safetensors")).expect("a sidecar");
    let before = listing(folder);
    for more in [&[][..], &["--no-initializers"]] {
        let (code, said) = answer(folder, &[&convert[..], more].concat());
        assert_eq!((code, &said["diagnostics"][0]["code"]), (Some(6), &"OP704".into()), "{said}");
        assert_eq!(listing(folder), before);
    }
    assert_eq!(answer(folder, &convert[..4]).0, Some(0));
}

/// Edits the model `m.onnx` of the good program, then verifies it; returns the exit code and the messages.
fn edited(folder: &Path, edit: impl FnOnce(&mut ModelProto)) -> (Option<i32>, Vec<String>) {
    assert_eq!(answer(folder, &["convert", "good.pt2", "-o", "m.onnx", "--no-verify"]).0, Some(0));
    let path = folder.join("m.onnx");
    let mut model = ModelProto::decode(fs::read(&path).expect("a model").as_slice()).expect("a model");
    edit(&mut model);
    fs::write(&path, model.encode_to_vec()).expect("a model");
    let (code, said) = answer(folder, &["verify", "m.onnx", "--against", "good.pt2"]);
    let diagnostics = said["diagnostics"].as_array().cloned().unwrap_or_default();
    let message = |found: &Value| found["message"].as_str().unwrap_or_default().to_owned();
    (code, diagnostics.iter().map(message).collect())
}

#[test]
fn an_interface_that_is_not_the_programs_is_said_in_a_sentence() {
    if !has_runtime() {
        return;
    }
    let folder = programs();
    let folder = folder.path();
    assert_eq!(edited(folder, |_| {}), (Some(0), Vec::new()));
    let graph = |model: &mut ModelProto| model.graph.take().expect("a graph");
    let (code, said) = edited(folder, |model| {
        let mut graph = graph(model);
        graph.output.swap(0, 1);
        model.graph = Some(graph);
    });
    assert_eq!(code, Some(4));
    let order =
        "the model's outputs are in another order than the program's: linear_2, add instead of add, linear_2";
    assert!(said.len() == 3 && said.iter().all(|said| said.ends_with(order)), "{said:?}");
    let (code, said) = edited(folder, |model| {
        let mut graph = graph(model);
        graph.input.retain(|input| input.name() != "seen");
        model.graph = Some(graph);
    });
    let message = "the model does not keep the state `seen`: unknown input `seen`";
    assert_eq!((code, said), (Some(4), vec![message.to_owned()]));
    let (code, said) = edited(folder, |model| {
        let mut graph = graph(model);
        graph.initializer.retain(|tensor| tensor.name() != "seen");
        model.graph = Some(graph);
    });
    let message = "the model does not keep the state `seen`: its input `seen` has no first value";
    assert_eq!((code, said), (Some(4), vec![message.to_owned()]));
    // An output fewer, and the state's.
    let (code, said) = edited(folder, |model| {
        let mut graph = graph(model);
        graph.output.remove(1);
        model.graph = Some(graph);
    });
    assert_eq!((code, said.len()), (Some(4), 3));
    assert!(said[0].ends_with("1 outputs returned, but the program has 2"), "{said:?}");
    let (code, said) = edited(folder, |model| {
        let mut graph = graph(model);
        graph.output.retain(|output| output.name() != "seen.next");
        model.graph = Some(graph);
        model.metadata_props.retain(|entry| entry.key() != "onnxport.state");
    });
    assert_eq!(code, Some(4));
    assert!(said[0].ends_with("the program changes seen, the model does not"), "{said:?}");
}

#[test]
fn a_declared_shape_that_does_not_come_out_is_wrong() {
    if !has_runtime() {
        return;
    }
    let folder = programs();
    let folder = folder.path();
    fs::remove_file(folder.join("good.expected.safetensors")).expect("a sidecar");
    assert_eq!(edited(folder, |_| {}), (Some(0), Vec::new()));
    let (code, said) = edited(folder, |model| {
        let output = model.graph.as_mut().and_then(|graph| graph.output.get_mut(1)).expect("an output");
        let Some(type_proto::Value::TensorType(ty)) = output.r#type.as_mut().and_then(|ty| ty.value.as_mut())
        else {
            panic!("a tensor")
        };
        // `[s, 16]`: the rows are another number than those of the input.
        let dim = ty.shape.as_mut().and_then(|shape| shape.dim.get_mut(0)).expect("an axis");
        let Some(Extent::DimParam(name)) = dim.value.clone() else { panic!("a symbol") };
        dim.value = Some(Extent::DimParam(format!("{name} + 1")));
    });
    assert_eq!(code, Some(4), "{said:?}");
    assert!(said.iter().all(|said| said.ends_with("1 of 3 outputs are wrong")), "{said:?}");
}

#[test]
fn an_executor_that_does_not_come_back_has_a_limit() {
    if !has_runtime() {
        return;
    }
    let text = "opset 20
graph {
  constant %trips: i64[] = [9000000000000000000]
  constant %go: bool[] = [true]
  input %x: f32[?, 16]
  %y: f32[?, 16] = Loop(%trips, %go, %x) {body = {
    input %i: i64[]
    input %cond: bool[]
    input %h: f32[?, 16]
    %0: f32[?, 16] = Tanh(%h)
    output %cond
    output %0
  }}
  output %y as y
}
";
    let folder = programs();
    let folder = folder.path();
    let model = Model::parse(text).expect("a model");
    write::write(&model, &folder.join("m.onnx"), &WriteOptions::default()).expect("a written model");
    let before = listing(folder);
    let start = Instant::now();
    let (code, said) = answer(folder, &["verify", "m.onnx", "--against", "good.pt2", "--timeout", "1"]);
    let message = "ONNX Runtime did not finish running the case traced within 1 s";
    let found = &said["diagnostics"][0];
    assert_eq!((code, &found["code"], &found["message"]), (Some(4), &"OP705".into(), &message.into()));
    assert!(start.elapsed() < Duration::from_secs(20));
    // Nothing is left of a conversion that ends so, either.
    let convert =
        ["convert", "good.pt2", "-o", "n.onnx", "--external-data", "external", "--timeout", "0.000001"];
    let (code, said) = answer(folder, &convert);
    assert_eq!((code, &said["diagnostics"][0]["code"]), (Some(4), &"OP705".into()), "{said}");
    assert_eq!(listing(folder), before);
}
