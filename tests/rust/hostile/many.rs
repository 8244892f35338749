//! Very many tensors: the work grows with their number, not with its square.

use std::fmt::Write;
use std::fs;

use onnxport_core::inspect::WeightTable;
use onnxport_core::ir::Model;
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::onnx::OnnxFile;
use onnxport_core::pt2;
use onnxport_core::tensor::{DType, Unbound};
use onnxport_core::weights::{BindOptions, NameMap, WeightSet, bind, bind_model};
use onnxport_core::write::{self, ExternalData, WriteOptions};
use serde_json::{Value, json};

use super::archive::Archive;
use super::measure::measured;

const MANY: usize = 20_000;

/// Returns the base archive with `many` more parameters, which no call reads: views of one storage, as `meta` gives
/// them.
fn archive(many: usize, payload: &[u8], meta: impl Fn(usize) -> Value) -> Archive {
    let mut table = String::new();
    for at in 0..many {
        let tensor = json!({
            "path_name": "many", "is_param": true, "use_pickle": false, "tensor_meta": meta(at),
        });
        write!(table, "\"many.{at}\":{tensor},").unwrap();
    }
    let mut archive = Archive::base();
    let config = archive.entry("model_weights_config.json");
    let text = String::from_utf8(config.clone()).unwrap();
    let start =
        text.find("\"config\"").unwrap() + text[text.find("\"config\"").unwrap()..].find('{').unwrap();
    *config = [&text[..=start], &table, &text[start + 1..]].concat().into_bytes();
    let folder = archive.entries.iter().find(|(name, _)| name.ends_with("weight_0")).unwrap().0.clone();
    archive.entries.push((folder.replace("weight_0", "many"), payload.to_vec()));
    archive
}

fn meta(sizes: &[usize], strides: &[usize], offset: usize) -> Value {
    let ints = |all: &[usize]| all.iter().map(|n| json!({"as_int": n})).collect::<Vec<_>>();
    json!({
        "dtype": 7, "sizes": ints(sizes), "strides": ints(strides), "storage_offset": {"as_int": offset},
        "layout": 7, "requires_grad": false, "device": {"type": "cpu", "index": null},
    })
}

fn safetensors(names: impl Iterator<Item = String>) -> Vec<u8> {
    let (mut header, mut at) = ("{".to_owned(), 0);
    for name in names {
        let comma = if at == 0 { "" } else { "," };
        write!(
            header,
            "{comma}\"{name}\":{{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[{at},{}]}}",
            at + 8
        )
        .unwrap();
        at += 8;
    }
    header.push('}');
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &vec![0; at]].concat()
}

#[test]
fn many_tensors_of_one_shape_are_bound() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("w.safetensors");
    // Every other one is missing, and as many are left over.
    fs::write(&path, safetensors((0..MANY).map(|at| format!("many.{}", at * 2)))).unwrap();
    let fake = archive(MANY, &[], |_| meta(&[2], &[1], 0)).write();
    let views = archive(MANY, &vec![0; 8 * MANY], |at| meta(&[2], &[1], at)).write();
    measured(|| {
        let set = WeightSet::open(std::slice::from_ref(&path), None).unwrap();
        assert_eq!(WeightTable::from(&set).tensors.len(), MANY);
        let mut program = pt2::read(fake.path()).unwrap().program;
        assert_eq!(WeightTable::from(&program).tensors.len(), program.tensors.len());
        let bound = bind(
            &mut program,
            &set,
            &NameMap::default(),
            BindOptions { partial: true, ..BindOptions::default() },
        );
        assert_eq!(bound.unwrap().replaced, MANY / 2);
    });
    measured(|| {
        let set = WeightSet::open(std::slice::from_ref(&path), None).unwrap();
        let mut program = pt2::read(views.path()).unwrap().program;
        let bound = bind(
            &mut program,
            &set,
            &NameMap::default(),
            BindOptions { partial: true, ..BindOptions::default() },
        );
        let report = bound.unwrap_err();
        assert!(
            report.diagnostics.iter().any(|d| d.message.ends_with("missing from the files: 10000")),
            "{report:?}"
        );
    });
}

#[test]
fn many_views_of_one_storage_are_told_apart() {
    let file = archive(MANY, &vec![0; 8 * MANY], |at| meta(&[2, 2], &[1, 2], at)).write();
    measured(|| {
        let program = pt2::read(file.path()).unwrap().program;
        let table = WeightTable::from(&program);
        assert_eq!(table.shared.iter().map(|shared| shared.views.len()).max(), Some(MANY));
    });
}

/// A model of as many weights, which it returns, all of them views of one storage.
fn model(many: usize) -> Model {
    let mut text = format!("opset {DEFAULT_OPSET}\ngraph {{\n");
    (0..many).for_each(|at| writeln!(text, "  constant %many.{at}: f32[2] = [0.0, 0.0]").unwrap());
    (0..many).for_each(|at| writeln!(text, "  output %many.{at} as out{at}").unwrap());
    text.push('}');
    let mut model = Model::parse(&text).unwrap();
    for (at, initializer) in model.graph.initializers.iter_mut().enumerate() {
        initializer.weight = true;
        let unbound = Unbound {
            name: format!("many.{at}"),
            storage: "one".to_owned(),
            dtype: DType::F32,
            shape: vec![2],
            offset: at as u64 * 2,
            strides: None,
        };
        initializer.data = unbound.into_tensor();
    }
    model
}

#[test]
fn models_wait_for_many_weights() {
    let model = model(MANY);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("w.safetensors");
    fs::write(&path, safetensors((0..MANY).map(|at| format!("many.{at}")))).unwrap();
    let (waiting, out) = (dir.path().join("waiting.onnx"), dir.path().join("m.onnx"));
    let weightless = WriteOptions { weightless: true, ..WriteOptions::default() };
    measured(|| write::plan_tensors(&model, &waiting, &weightless).unwrap());
    measured(|| write::write(&model, &waiting, &weightless).unwrap());
    measured(|| assert_eq!(WeightTable::read_model(&waiting).unwrap().tensors.len(), MANY));
    measured(|| {
        let set = WeightSet::open(&[path], None).unwrap();
        let options = WriteOptions { external_data: ExternalData::External, ..WriteOptions::default() };
        bind_model(&waiting, &set, &NameMap::default(), BindOptions::default(), &out, &options).unwrap();
    });
    assert_eq!(OnnxFile::open(&out).unwrap().weights.len(), MANY);
}
