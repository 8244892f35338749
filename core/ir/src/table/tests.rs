use std::fs;
use std::path::Path;

use onnxport_proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, StringStringEntryProto, TensorProto,
};
use prost::Message;

use super::{Drafts, SourceSummary, TensorKind, TensorSummary, ViewSummary, WeightTable};
use crate::tensor::{DType, LazyTensor, MappedFile, Source, Transform, Unbound};

fn view(file: &MappedFile, shape: &[u64], offset: u64, strides: Option<Vec<u64>>) -> LazyTensor {
    let source = Source::Mapped { file: file.clone(), offset: 8, len: 96 };
    LazyTensor { dtype: DType::F32, shape: shape.to_vec(), source, offset, strides }
}

fn table(tensors: &[(&str, LazyTensor)]) -> WeightTable {
    let mut drafts = Drafts::default();
    for (name, tensor) in tensors {
        drafts.push(name, TensorKind::Tensor, tensor, None);
    }
    drafts.into_table()
}

fn find<'a>(table: &'a WeightTable, name: &str) -> &'a TensorSummary {
    table.tensors.iter().find(|tensor| tensor.name == name).unwrap()
}

#[test]
fn views_of_one_storage_are_told_from_the_same_elements() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("w.bin");
    fs::write(&path, [0; 128]).unwrap();
    let file = MappedFile::open(&path).unwrap();
    let tensors = [
        ("whole", view(&file, &[4, 6], 0, None)),
        ("again", view(&file, &[24], 0, None)),
        ("transposed", view(&file, &[6, 4], 0, Some(vec![1, 6]))),
        ("half", view(&file, &[2, 6], 12, None).then(Transform::Cast(DType::F16)).unwrap()),
    ];
    let table = table(&tensors);
    assert_eq!((table.bytes, table.saved_bytes, table.distinct_bytes), (96 * 3 + 24, 96, 96 * 2 + 24));
    assert_eq!(table.shared.len(), 1);
    assert!(table.shared[0].overlapping);
    assert_eq!(table.shared[0].views, [vec!["whole", "again"], vec!["transposed"], vec!["half"]]);
    assert_eq!(find(&table, "whole").view, ViewSummary::Dense);
    assert_eq!(find(&table, "transposed").view, ViewSummary::Strided { offset: 0, strides: vec![1, 6] });
    let half = find(&table, "half");
    assert_eq!((half.dtype.as_str(), half.bytes), ("f16", 24));
    assert_eq!(
        (&half.view, half.transforms.as_slice()),
        (&ViewSummary::Slice { offset: 12 }, ["cast f16".to_owned()].as_slice())
    );
    let source = SourceSummary::File { file: path, entry: None, offset: 8, length: 96, aligned: true };
    assert_eq!(half.source, source);
    table.check().unwrap();
}

#[test]
fn parts_of_a_storage_do_not_overlap_and_equal_bytes_are_not_shared() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("w.bin");
    fs::write(&path, [0; 128]).unwrap();
    let file = MappedFile::open(&path).unwrap();
    let zeros = || LazyTensor::inline(DType::U8, vec![4], vec![0; 4]);
    let unbound = |name: &str| {
        Unbound {
            name: name.to_owned(),
            storage: "s".to_owned(),
            dtype: DType::F32,
            shape: vec![2],
            offset: 0,
            strides: None,
        }
        .into_tensor()
    };
    let mut short = view(&file, &[24], 0, None);
    short.source = Source::Mapped { file: file.clone(), offset: 120, len: 96 };
    let tensors = [
        ("low", view(&file, &[12], 0, None)),
        ("high", view(&file, &[12], 12, None)),
        ("zeros", zeros()),
        ("others", zeros()),
        ("waits", unbound("waits")),
        ("waits too", unbound("waits too")),
        ("short", short),
        ("none", LazyTensor::inline(DType::F32, vec![0], Vec::new())),
    ];
    let table = table(&tensors);
    let views: Vec<_> =
        table.shared.iter().map(|storage| (storage.views.clone(), storage.overlapping)).collect();
    let names = |views: &[&[&str]]| -> Vec<Vec<String>> {
        views.iter().map(|view| view.iter().map(|name| (*name).to_owned()).collect()).collect()
    };
    assert_eq!(views[0], (names(&[&["low"], &["high"]]), false));
    assert_eq!(views[1], (names(&[&["waits", "waits too"]]), false));
    assert_eq!(views.len(), 2);
    let report = table.check().unwrap_err();
    assert_eq!(report.diagnostics[0].code.as_str(), "OP106");
    assert!(report.diagnostics[0].notes[0].starts_with("`short` "), "{:?}", report.diagnostics[0].notes);
}

fn external(name: &str, entries: &[(&str, &str)]) -> TensorProto {
    let entry = |(key, value): &(&str, &str)| StringStringEntryProto {
        key: Some((*key).to_owned()),
        value: Some((*value).to_owned()),
    };
    TensorProto {
        name: Some(name.into()),
        dims: vec![4],
        data_type: Some(1),
        data_location: Some(1),
        external_data: entries.iter().map(entry).collect(),
        ..TensorProto::default()
    }
}

fn read(dir: &Path, graph: GraphProto) -> WeightTable {
    let path = dir.join("m.onnx");
    fs::write(&path, ModelProto { graph: Some(graph), ..ModelProto::default() }.encode_to_vec()).unwrap();
    WeightTable::read_model(&path).unwrap()
}

#[test]
fn every_initializer_has_a_row_whatever_it_claims() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("d"), [0; 64]).unwrap();
    let inline = TensorProto {
        raw_data: Some(vec![0; 16].into()),
        data_location: None,
        external_data: Vec::new(),
        ..external("inner", &[])
    };
    let body = GraphProto { initializer: vec![inline], ..GraphProto::default() };
    let attribute = AttributeProto { name: Some("body".into()), g: Some(body), ..AttributeProto::default() };
    let node = NodeProto { name: Some("loop".into()), attribute: vec![attribute], ..NodeProto::default() };
    let initializer = vec![
        external("a", &[("location", "d"), ("offset", "16")]),
        external("b", &[("location", "./d"), ("offset", "16"), ("length", "16")]),
        external("c", &[("location", "d"), ("offset", "24")]),
        external("odd", &[("location", "d"), ("offset", "45")]),
        external("far", &[("location", "d"), ("offset", "18446744073709551615")]),
        external("gone", &[("location", "gone")]),
        external("out", &[("location", "../d")]),
        TensorProto { dims: vec![-4], ..external("below", &[("location", "d")]) },
        TensorProto { data_type: Some(99), ..external("odder", &[("location", "d")]) },
    ];
    let table = read(dir.path(), GraphProto { initializer, node: vec![node], ..GraphProto::default() });
    let problems: Vec<_> =
        table.tensors.iter().filter(|t| t.problem.is_some()).map(|t| t.name.as_str()).collect();
    assert_eq!(problems, ["far", "gone", "out", "below"]);
    assert_eq!(table.shared[0].views, [vec!["a", "b"], vec!["c"]]);
    assert!(table.shared[0].overlapping);
    assert_eq!(table.saved_bytes, 16);
    let aligned = |name: &str| match find(&table, name).source {
        SourceSummary::File { aligned, .. } => aligned,
        _ => panic!("{name} is in no file"),
    };
    assert!(aligned("a") && !aligned("odd"));
    assert_eq!(find(&table, "below").shape, None);
    assert_eq!(find(&table, "odder").dtype, "unknown");
    let inner = find(&table, "loop.body/inner");
    assert_eq!((inner.kind, &inner.source), (TensorKind::Nested, &SourceSummary::Model { length: 16 }));
    let report = table.check().unwrap_err();
    assert_eq!((report.diagnostics.len(), report.diagnostics[0].code.as_str()), (1, "OP110"));
    assert_eq!(report.diagnostics[0].notes.len(), 4);
}
