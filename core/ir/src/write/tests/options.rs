//! Shards, plans, limits, lists of hashes, and models without their weights.

use super::*;
use crate::table::{DestinationSummary, SourceSummary, TensorKind, ViewSummary};
use crate::tensor::Transform;
use crate::write::{PlannedFile, WritePlan, manifest, plan, plan_tensors};

fn external() -> WriteOptions {
    WriteOptions { external_data: ExternalData::External, ..WriteOptions::default() }
}

#[test]
fn weights_fill_one_file_after_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    let options = WriteOptions { shard_bytes: Some(4000), ..external() };
    let report = write(&small(dir.path()), &path, &options).unwrap();
    // The third weight is larger than a shard.
    let names = ["m-00001-of-00002.onnx.data", "m-00002-of-00002.onnx.data"];
    assert_eq!(report.data, names.map(|name| dir.path().join(name)));
    assert_eq!(files(dir.path()), [names[0], names[1], "m.onnx"]);
    let weights = read(&path).graph.unwrap().initializer;
    let places: Vec<_> =
        weights.iter().map(|w| (place(w, "location").unwrap(), place(w, "offset"))).collect();
    let at = |file: usize| (names[file].to_owned(), Some("0".to_owned()));
    assert_eq!(places, [at(0), at(0), at(1)]);
    assert_eq!(fs::metadata(dir.path().join(names[1])).unwrap().len(), 4096);
    // Data in a single file have the usual name, and the shards are gone.
    let options = WriteOptions { shard_bytes: Some(1 << 20), ..external() };
    write(&small(dir.path()), &path, &options).unwrap();
    assert_eq!(files(dir.path()), ["m.onnx", "m.onnx.data"]);
    write(&small(dir.path()), &path, &WriteOptions::default()).unwrap();
    assert_eq!(files(dir.path()), ["m.onnx"]);
}

#[test]
fn a_plan_is_what_happens() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    let model = small(dir.path());
    let options = WriteOptions { shard_bytes: Some(4000), ..external() };
    let before = plan(&model, &path, &options).unwrap();
    assert!(files(dir.path()).is_empty());
    write(&model, &path, &options).unwrap();
    let size = |file: &PlannedFile| fs::metadata(&file.path).unwrap().len();
    let sizes: Vec<u64> = before.files.iter().map(|file| file.bytes).collect();
    assert_eq!(sizes, before.files.iter().map(size).collect::<Vec<_>>());
    let WritePlan { tensors, stored_bytes, inline_bytes, padding_bytes, .. } = before;
    assert_eq!((tensors.stored, tensors.tied, tensors.inline, tensors.left_out), (2, 1, 0, 0));
    assert_eq!((stored_bytes, inline_bytes, padding_bytes), (2048 + 4096, 0, 0));
    let after = plan(&model, &path, &options).unwrap();
    assert!(after.files.iter().all(|file| file.replaces == Some(file.bytes)));
}

#[test]
fn a_plan_says_where_every_tensor_goes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    let mut model = small(dir.path());
    let transposed = &mut model.graph.initializers[2].data;
    *transposed = transposed.then(Transform::Cast(DType::F16)).unwrap();
    let (summary, table) = plan_tensors(&model, &path, &external()).unwrap();
    let data = dir.path().join("m.onnx.data");
    let stored = |offset, length, tied: Option<&str>| {
        Some(DestinationSummary::Data { file: data.clone(), offset, length, tied: tied.map(str::to_owned) })
    };
    let places: Vec<_> = table.tensors.iter().map(|tensor| tensor.place.clone()).collect();
    assert_eq!(places, [stored(0, 2048, None), stored(0, 2048, Some("a.weight")), stored(2048, 2048, None)]);
    assert_eq!(summary.files[1].bytes, 4096);
    let row = &table.tensors[2];
    assert_eq!(
        (row.kind, row.dtype.as_str(), row.transforms.as_slice()),
        (TensorKind::Constant, "f16", ["cast f16".to_owned()].as_slice())
    );
    assert_eq!(row.view, ViewSummary::Strided { offset: 0, strides: vec![1, 2] });
    assert!(matches!(&row.source, SourceSummary::File { length: 4096, offset: 0, .. }));
    assert_eq!(table.shared[0].views, [vec!["a.weight", "b.weight"], vec!["c.weight"]]);
    // The files match the plan.
    write(&model, &path, &external()).unwrap();
    let written = crate::table::WeightTable::read_model(&path).unwrap();
    for (planned, row) in table.tensors.iter().zip(&written.tensors) {
        let Some(DestinationSummary::Data { file, offset, length, .. }) = &planned.place else {
            panic!("{planned:?}")
        };
        let (entry, aligned) = (None, true);
        let source =
            SourceSummary::File { file: file.clone(), entry, offset: *offset, length: *length, aligned };
        assert_eq!(row.source, source);
    }
    let options = WriteOptions { initializers: false, ..external() };
    let (_, table) = plan_tensors(&model, &path, &options).unwrap();
    assert!(table.tensors.iter().any(|tensor| tensor.place == Some(DestinationSummary::LeftOut)));
}

#[test]
fn padding_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..3_u32 << 18).flat_map(u32::to_le_bytes).collect();
    let file = mapped(dir.path(), &bytes);
    let mut model =
        Model { opsets: vec![OpsetImport { domain: String::new(), version: 20 }], ..Model::default() };
    for (at, elements) in [300, 1 << 18, 300, 1 << 14].into_iter().enumerate() {
        let data = weight(&file, &[elements], at as u64, None);
        model.graph.add_initializer(Some(format!("w{at}").into()), data);
    }
    let plan = plan(&model, &dir.path().join("m.onnx"), &external()).unwrap();
    // Multiples of 64, of 64 KiB from 1 MiB on, and of 4 KiB from 64 KiB on.
    let ends = (0x1_0000 - 1200) + (0x1000 - 1200);
    assert_eq!((plan.padding_bytes, plan.files[1].bytes), (ends, 0x1_0000 + (1 << 20) + 0x1000 + (1 << 16)));
}

#[test]
fn what_the_machine_cannot_hold_is_refused_early() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    let mut model = small(dir.path());
    #[cfg(target_os = "linux")]
    {
        let options = WriteOptions { max_memory: Some(1 << 16), ..external() };
        let report = write(&model, &path, &options).unwrap_err();
        assert_eq!(report.diagnostics[0].code.as_str(), "OP611");
        let options = WriteOptions { max_memory: Some(1 << 40), ..external() };
        write(&model, &dir.path().join("fits.onnx"), &options).unwrap();
    }
    // 4 PiB: one row, again and again.
    model.graph.initializers[2].data.shape = vec![1 << 40, 1024];
    model.graph.initializers[2].data.strides = Some(vec![0, 1]);
    let plan = plan(&model, &path, &external()).unwrap();
    if plan.disk_free.is_some() {
        let report = write(&model, &path, &external()).unwrap_err();
        assert_eq!(report.diagnostics[0].code.as_str(), "OP610");
    }
    assert!(!path.exists());
}

#[test]
fn hashes_are_those_of_the_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    let options = WriteOptions { manifest: true, shard_bytes: Some(4000), ..external() };
    let report = write(&small(dir.path()), &path, &options).unwrap();
    let list = manifest::path_of(&path);
    assert_eq!(report.manifest.as_ref(), Some(&list));
    let listed = manifest::check(&list).unwrap();
    assert_eq!(listed.len(), 3);
    assert!(listed.iter().all(|file| file.problem.is_none()), "{listed:?}");
    // One that belongs to a model that is replaced goes with it.
    write(&small(dir.path()), &path, &external()).unwrap();
    assert_eq!(files(dir.path()), ["m.onnx", "m.onnx.data"]);
}

#[test]
fn weights_can_be_inputs_and_can_be_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    let mut model = small(dir.path());
    // A constant that the conversion made stays.
    let made = LazyTensor::inline(DType::F32, vec![2], f32s(&[1.0, 2.0]));
    model.graph.add_initializer(None, made);
    let weights = ["a.weight", "b.weight", "c.weight"];
    for (initializers, initializers_as_inputs) in [(true, false), (true, true), (false, false), (false, true)]
    {
        let options = WriteOptions { initializers, initializers_as_inputs, ..WriteOptions::default() };
        let report = write(&model, &path, &options).unwrap();
        let graph = read(&path).graph.unwrap();
        let names: Vec<&str> = graph.initializer.iter().map(TensorProto::name).collect();
        let kept: &[&str] = if initializers { &weights } else { &[] };
        assert_eq!(names, [kept, &["constant"]].concat());
        assert_eq!(report.tensors, names.len());
        let inputs: Vec<&str> = graph.input.iter().map(ValueInfoProto::name).collect();
        let declared: &[&str] = if initializers_as_inputs { &weights } else { &[] };
        assert_eq!(inputs, [&["x"], declared].concat());
    }
}

#[cfg(unix)]
#[test]
fn a_source_that_changes_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    let model = small(dir.path());
    let source = dir.path().join("source.bin");
    let mut bytes = fs::read(&source).unwrap();
    bytes.push(0);
    fs::write(&source, &bytes).unwrap();
    let report = write(&model, &path, &WriteOptions::default()).unwrap_err();
    assert_eq!(report.diagnostics[0].code.as_str(), "OP613");
    fs::File::options().write(true).open(&source).unwrap().set_len(100).unwrap();
    let report = write(&model, &path, &external()).unwrap_err();
    assert_eq!(report.diagnostics[0].code.as_str(), "OP613");
    assert!(files(dir.path()).is_empty());
}

/// A model that returns these weights.
fn returning(weights: Vec<LazyTensor>) -> Model {
    let mut model = Model::default();
    model.opsets.push(OpsetImport { domain: String::new(), version: 20 });
    let main = model.graph.main();
    for (at, data) in weights.into_iter().enumerate() {
        let value = model.graph.add_weight(Some(format!("w{at}").into()), data);
        model.graph.add_output(main, value);
        model.output_names.push(format!("y{at}"));
    }
    model
}

#[test]
fn equal_weights_share_their_bytes_and_similar_ones_do_not() {
    const LEN: usize = 20_000;
    let bytes: Vec<u8> = (0..LEN).map(|at| (at / 3) as u8).collect();
    let with = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        bytes
    };
    let u8s = |bytes: Vec<u8>| LazyTensor::inline(DType::U8, vec![LEN as u64], bytes);
    let dir = tempfile::tempdir().unwrap();
    let file = mapped(dir.path(), &bytes);
    let stored = Source::Mapped { file, offset: 0, len: LEN as u64 };
    let other =
        LazyTensor { dtype: DType::F32, shape: vec![50, 100], source: stored, offset: 0, strides: None };
    let weights = vec![
        u8s(bytes.clone()),
        u8s(with(0)),
        // They differ where a sample of them, a page or the first piece ends, and at the very end.
        u8s(with(4095)),
        u8s(with(4096)),
        u8s(with(LEN - 1)),
        // The same bytes, elsewhere and as something else.
        other,
        u8s(with(4096)),
    ];
    let expected: Vec<Vec<u8>> = weights.iter().map(|w| w.read().unwrap().into_owned()).collect();
    let model = returning(weights);
    let path = dir.path().join("m.onnx");
    let report = write(&model, &path, &external()).unwrap();
    assert_eq!((report.tied, report.weight_bytes), (2, 5 * LEN as u64));
    let data = fs::read(dir.path().join("m.onnx.data")).unwrap();
    for (tensor, expected) in read(&path).graph.unwrap().initializer.iter().zip(&expected) {
        let offset: usize = place(tensor, "offset").unwrap().parse().unwrap();
        assert_eq!(&data[offset..][..LEN], expected, "{}", tensor.name());
    }
}

#[test]
fn a_shard_may_be_filled_to_its_last_byte() {
    let bytes = |fill: u8| LazyTensor::inline(DType::U8, vec![4096], vec![fill; 4096]);
    let model = returning(vec![bytes(1), bytes(2), bytes(3)]);
    let dir = tempfile::tempdir().unwrap();
    let sizes = |limit: u64| {
        let options = WriteOptions { shard_bytes: Some(limit), ..external() };
        let plan = plan(&model, &dir.path().join("m.onnx"), &options).unwrap();
        plan.files[1..].iter().map(|file| file.bytes).collect::<Vec<_>>()
    };
    assert_eq!(sizes(2 * 4096), [2 * 4096, 4096]);
    assert_eq!(sizes(2 * 4096 - 1), [4096, 4096, 4096]);
    assert_eq!(sizes(2 * 4096 + 1), [2 * 4096, 4096]);
}

#[test]
fn hashes_cover_what_lies_between_tensors() {
    let bytes = |len: usize| LazyTensor::inline(DType::U8, vec![len as u64], vec![len as u8; len]);
    let model = returning(vec![bytes(1500), bytes(1 << 16), bytes(1030)]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    let options = WriteOptions { manifest: true, ..external() };
    assert!(plan(&model, &path, &options).unwrap().padding_bytes > 1000);
    let list = write(&model, &path, &options).unwrap().manifest.unwrap();
    assert!(manifest::check(&list).unwrap().iter().all(|file| file.problem.is_none()));
}
