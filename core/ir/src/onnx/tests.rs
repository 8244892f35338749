use std::fs;
use std::path::Path;

use onnxport_proto::{GraphProto, ModelProto, StringStringEntryProto, TensorProto};
use prost::Message;

use super::{Location, OnnxFile};
use crate::ir::Model;
use crate::write::{ExternalData, WriteOptions, write};

fn external(entries: &[(&str, &str)]) -> TensorProto {
    let entry = |(key, value): &(&str, &str)| StringStringEntryProto {
        key: Some((*key).to_owned()),
        value: Some((*value).to_owned()),
    };
    TensorProto {
        name: Some("w".into()),
        dims: vec![4],
        data_type: Some(1),
        data_location: Some(1),
        external_data: entries.iter().map(entry).collect(),
        ..TensorProto::default()
    }
}

/// Returns the error of opening a model with the weight `tensor` and checking its data.
fn said(dir: &Path, tensor: TensorProto) -> String {
    let graph = GraphProto { initializer: vec![tensor], ..GraphProto::default() };
    let model = ModelProto { graph: Some(graph), ..ModelProto::default() };
    let path = dir.join("m.onnx");
    fs::write(&path, model.encode_to_vec()).unwrap();
    match OnnxFile::open(&path).and_then(|file| file.check_data()) {
        Ok(()) => String::new(),
        Err(error) => {
            assert_eq!(error.code.as_str(), "OP110");
            error.message
        }
    }
}

#[test]
fn what_was_written_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let zeros = vec!["0.0"; 64].join(", ");
    let text = format!(
        "opset 20\nopset com.microsoft 1\ngraph {{\n  constant %w: f32[64] = [{zeros}]\n  constant %big: f32[512] = ...\n  \
         input %x: f32[s0, 64]\n  %a = Add(%x, %w)\n  %b = com.microsoft::Gelu(%a)\n  output %b as y\n}}\n"
    );
    let mut model = Model::parse(&text).unwrap();
    model.graph.initializers[1].data.source = crate::tensor::Source::Inline(vec![7; 2048].into());
    let path = dir.path().join("m.onnx");
    let options = WriteOptions { external_data: ExternalData::External, ..WriteOptions::default() };
    write(&model, &path, &options).unwrap();
    let file = OnnxFile::open(&path).unwrap();
    file.check_data().unwrap();
    assert!(file.producer().starts_with("onnxport "));
    assert_eq!((file.weights[0].bytes, &file.weights[0].location), (256, &Location::Inline));
    let place = Location::External { file: "m.onnx.data".into(), offset: 0, length: Some(2048) };
    assert_eq!(file.weights[1].location, place);
    let counts: Vec<_> = file.op_counts().into_iter().collect();
    assert_eq!(counts[0], ((String::new(), "Add".to_owned()), 1));
    assert_eq!(counts[1], (("com.microsoft".to_owned(), "Gelu".to_owned()), 1));
    fs::write(dir.path().join("m.onnx.data"), [0; 2047]).unwrap();
    let error = file.check_data().unwrap_err();
    assert!(
        error.message.contains("takes bytes up to 2048 of `m.onnx.data`, which has 2047"),
        "{}",
        error.message
    );
}

#[test]
fn damaged_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    assert_eq!(OnnxFile::open(&path).unwrap_err().code.as_str(), "OP101");
    for bytes in [&b""[..], b"not a model", &[0xff; 64], &[0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f]] {
        fs::write(&path, bytes).unwrap();
        assert_eq!(OnnxFile::open(&path).unwrap_err().code.as_str(), "OP110", "{bytes:?}");
    }
}

#[test]
fn weights_that_cannot_be_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("d"), [0; 16]).unwrap();
    assert_eq!(said(dir.path(), external(&[("location", "d"), ("length", "16")])), "");
    assert_eq!(said(dir.path(), external(&[("location", "./d")])), "");
    for outside in ["../d", "/etc/passwd", "a/../../d", "..\\d"] {
        assert!(said(dir.path(), external(&[("location", outside)])).contains("outside"), "{outside}");
    }
    assert!(said(dir.path(), external(&[])).contains("does not give the location"));
    assert!(said(dir.path(), external(&[("location", "gone")])).contains("`gone`"));
    let far = |offset: &str| said(dir.path(), external(&[("location", "d"), ("offset", offset)]));
    assert!(far("1").contains("up to 17"));
    assert!(far("18446744073709551615").contains("which has 16"));
    assert!(far("-1").contains("the offset `-1`"));
    assert!(
        said(dir.path(), external(&[("location", "d"), ("length", "8")]))
            .contains("has 8 bytes of external data")
    );
    let inline = TensorProto { raw_data: Some(vec![0; 3].into()), data_location: None, ..external(&[]) };
    assert!(said(dir.path(), inline.clone()).contains("has 3 bytes"));
    assert!(said(dir.path(), TensorProto { dims: vec![-1], ..inline.clone() }).contains("negative size"));
    assert!(said(dir.path(), TensorProto { dims: vec![i64::MAX, i64::MAX], ..inline }).contains("too large"));
}
