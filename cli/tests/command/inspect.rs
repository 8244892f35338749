//! `onnxport inspect --weights` and the tensors of a plan, from outside.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{self, answer, mlp, onnxport_in, repository};

/// Returns the output of a command.
fn text(folder: &Path, arguments: &[&str]) -> String {
    program::text(&onnxport_in(folder, arguments).stdout)
}

fn convert(folder: &Path, more: &[&str]) -> Value {
    fs::copy(mlp(), folder.join("mlp.pt2")).expect("a copy");
    let arguments = ["convert", "mlp.pt2", "-o", "m.onnx", "--no-verify"];
    let (code, said) = answer(folder, &[&arguments, more].concat());
    assert_eq!(code, Some(0), "{said}");
    said
}

#[test]
fn a_row_of_a_program_has_a_documented_form() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(mlp(), folder.path().join("mlp.pt2")).expect("a copy");
    let (code, said) = answer(folder.path(), &["inspect", "--weights", "mlp.pt2"]);
    assert_eq!(code, Some(0));
    let table = &said["weights"];
    assert_eq!(table["tensors"].as_array().map(Vec::len), Some(8));
    let row = json!({
        "name": "fc0.weight",
        "kind": "parameter",
        "dtype": "f32",
        "shape": [8, 8],
        "bytes": 256,
        "source": {
            "kind": "file",
            "file": "mlp.pt2",
            "entry": "mlp/data/weights/weight_0",
            "offset": 64,
            "length": 256,
            "aligned": true,
        },
        "view": { "kind": "dense" },
        "transforms": [],
        "shared": null,
    });
    assert_eq!(table["tensors"][0], row);
    for (key, expected) in [
        ("bytes", json!(1152)),
        ("distinct_bytes", json!(1152)),
        ("saved_bytes", json!(0)),
        ("shared", json!([])),
    ] {
        assert_eq!(table[key], expected, "{key}");
    }
}

#[test]
fn archives_in_archives_name_both_entries() {
    let golden = repository().join("tests/files/golden/torch-2.8.0");
    let (_, said) = answer(&golden, &["inspect", "--weights", "conv_bn_train.pt2"]);
    let source = &said["weights"]["tensors"][0]["source"];
    assert_eq!(source["entry"], "conv_bn_train/data/weights/model.pt!archive/data/0");
    let shown = text(&golden, &["inspect", "--weights", "conv_bn_train.pt2"]);
    assert!(shown.contains("norm.running_mean") && shown.contains("buffer"), "{shown}");
}

#[test]
fn files_of_weights_are_shown_without_being_asked() {
    let folder = repository().join("examples/mlp");
    for arguments in [&["inspect", "mlp.expected.safetensors"][..], &["inspect", "--weights", "."]] {
        let (code, said) = answer(&folder, arguments);
        assert_eq!(code, Some(0), "{said}");
        let row = &said["weights"]["tensors"][0];
        assert_eq!((&row["kind"], &row["source"]["kind"]), (&json!("tensor"), &json!("file")));
    }
    let shown = text(&folder, &["inspect", "mlp.expected.safetensors"]);
    let all = text(&folder, &["inspect", "mlp.expected.safetensors", "--all"]);
    assert!(all.lines().count() >= shown.lines().count());
    assert!(!shown.contains('\u{1b}'));
}

#[test]
fn long_tables_end_with_what_is_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    // A safetensors file with 30 tensors of one byte.
    let entries: Vec<String> = (0..30)
        .map(|at| {
            format!("\"layer.{at:02}\":{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[{at},{}]}}", at + 1)
        })
        .collect();
    let header = format!("{{{}}}", entries.join(","));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend([0; 30]);
    fs::write(folder.path().join("w.safetensors"), file).expect("a file");
    let shown = text(folder.path(), &["inspect", "w.safetensors"]);
    assert!(shown.contains("... 10 more, see --all") && !shown.contains("layer.20"), "{shown}");
    let all = text(folder.path(), &["inspect", "w.safetensors", "--all"]);
    assert!(all.contains("layer.29  u8[1]  1 byte"), "{all}");
}

#[test]
fn a_model_says_where_its_weights_are_and_what_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    convert(folder, &["--external-data", "external"]);
    let (code, said) = answer(folder, &["inspect", "--weights", "m.onnx"]);
    assert_eq!(code, Some(0));
    let places = said["weights"]["tensors"].as_array().expect("rows").iter();
    let kinds: Vec<&str> = places.filter_map(|row| row["source"]["kind"].as_str()).collect();
    assert!(kinds.contains(&"model") && !kinds.contains(&"unbound"), "{kinds:?}");
    let model = folder.join("m.onnx");
    let bytes = fs::read(&model).expect("a model");
    fs::write(&model, onnx_with_outside_data()).expect("a model");
    let (code, said) = answer(folder, &["inspect", "--weights", "m.onnx"]);
    assert_eq!((code, &said["diagnostics"][0]["code"]), (Some(5), &json!("OP110")));
    let problem = &said["weights"]["tensors"][0]["problem"];
    assert!(problem["message"].as_str().is_some_and(|m| m.contains("outside the model's folder")), "{said}");
    fs::write(&model, &bytes[..bytes.len() / 2]).expect("half a model");
    assert_eq!(answer(folder, &["inspect", "--weights", "m.onnx"]).0, Some(5));
}

/// A model with one initializer whose data are in the parent folder.
fn onnx_with_outside_data() -> Vec<u8> {
    use onnxport_proto::{GraphProto, ModelProto, StringStringEntryProto, TensorProto};
    use prost::Message;

    let location = StringStringEntryProto { key: Some("location".into()), value: Some("../w".into()) };
    let tensor = TensorProto {
        name: Some("w".into()),
        dims: vec![4],
        data_type: Some(1),
        data_location: Some(1),
        external_data: vec![location],
        ..TensorProto::default()
    };
    let graph = GraphProto { initializer: vec![tensor], ..GraphProto::default() };
    ModelProto { graph: Some(graph), ..ModelProto::default() }.encode_to_vec()
}

#[test]
fn a_plan_shows_what_happens_to_every_tensor() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let options = ["--dtype", "f16", "--external-data", "external"];
    let said = convert(folder, &[&options[..], &["--plan"]].concat());
    let rows = said["weights"]["tensors"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["name"] == "fc0.weight").expect("a row");
    assert_eq!(
        (&row["dtype"], &row["bytes"], &row["transforms"]),
        (&json!("f16"), &json!(128), &json!(["cast f16"]))
    );
    assert_eq!((&row["kind"], &row["place"]), (&json!("weight"), &json!({ "kind": "model" })));
    assert_eq!(row["source"]["entry"], "mlp/data/weights/weight_0");

    let arguments = ["convert", "mlp.pt2", "-o", "m.onnx", "--dtype", "f16"];
    let shown = text(folder, &[&arguments[..], &["--plan=tensors"]].concat());
    assert!(
        shown.contains("cast f16") && shown.contains("-> the model") && shown.contains("disk"),
        "{shown}"
    );
    let short = text(folder, &[&arguments[..], &["--plan"]].concat());
    assert!(
        shown.starts_with(short.lines().next().expect("a line")) && !short.contains("cast f16"),
        "{short}"
    );
    assert!(!folder.join("m.onnx").exists());
}
