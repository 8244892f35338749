mod nested;
mod options;

use std::fs;
use std::path::Path;

use onnxport_proto::{ModelProto, TensorProto, ValueInfoProto, tensor_shape_proto::dimension, type_proto};
use prost::Message;

use super::{ExternalData, WriteOptions, write};
use crate::diagnose::{CallSite, Frame, Origin};
use crate::ir::StateKind;
use crate::ir::{Attr, Attribute, Model, NodeId, OpsetImport, Shape, State, Type, ValueId};
use crate::ops::infer;
use crate::sym::Dim;
use crate::tensor::{DType, LazyTensor, MappedFile, Source};

fn node(model: &mut Model, op: &str, inputs: &[ValueId], attrs: &[(&str, Attr)]) -> NodeId {
    let main = model.graph.main();
    node_in(model, main, op, inputs, attrs)
}

fn node_in(
    model: &mut Model,
    block: crate::ir::BlockId,
    op: &str,
    inputs: &[ValueId],
    attrs: &[(&str, Attr)],
) -> NodeId {
    let attributes = attrs.iter().map(|(n, v)| Attribute { name: (*n).into(), value: v.clone() }).collect();
    let inputs = inputs.iter().copied().map(Some);
    let node = model.graph.append(block, "", op, inputs, attributes, 1, None);
    infer::infer(&mut model.graph, &mut model.symbols, 20, node);
    node
}

fn out(model: &Model, node: NodeId) -> ValueId {
    model.graph.nodes[node].outputs[0].unwrap()
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn mapped(dir: &Path, bytes: &[u8]) -> MappedFile {
    let path = dir.join("source.bin");
    fs::write(&path, bytes).unwrap();
    MappedFile::open(&path).unwrap()
}

fn weight(file: &MappedFile, shape: &[u64], offset: u64, strides: Option<Vec<u64>>) -> LazyTensor {
    let source = Source::Mapped { file: file.clone(), offset: 0, len: file.bytes().len() as u64 };
    LazyTensor { dtype: DType::F32, shape: shape.to_vec(), source, offset, strides }
}

/// `y = relu(x + w)` with a mapped weight of 512 elements, a tied one and a transposed one.
fn small(dir: &Path) -> Model {
    let values: Vec<f32> = (0u16..1024).map(f32::from).collect();
    let file = mapped(dir, &f32s(&values));
    let mut model =
        Model { opsets: vec![OpsetImport { domain: String::new(), version: 20 }], ..Model::default() };
    let s0 = model.symbols.symbol("s0");
    let main = model.graph.main();
    let ty = Type::tensor(DType::F32, Shape::of([s0, Dim::Const(512)]));
    let x = model.graph.add_input(main, Some("x".into()), ty);
    let w = model.graph.add_initializer(Some("a.weight".into()), weight(&file, &[512], 512, None));
    let tied = model.graph.add_initializer(Some("b.weight".into()), weight(&file, &[512, 1], 512, None));
    let transposed = weight(&file, &[2, 512], 0, Some(vec![1, 2]));
    let transposed = model.graph.add_initializer(Some("c.weight".into()), transposed);
    let sum = node(&mut model, "Add", &[x, w], &[]);
    let place = CallSite {
        module: "layer.act".into(),
        frames: [Frame {
            file: "/home/user/project/model.py".into(),
            line: 7,
            function: "forward".into(),
            code: String::new(),
        }]
        .into(),
        ..CallSite::default()
    };
    let origin = model.origins.push(Origin::new("relu", place));
    let total = out(&model, sum);
    let abs = node(&mut model, "Abs", &[total], &[]);
    let positive = out(&model, abs);
    let relu = node(&mut model, "Relu", &[positive], &[]);
    model.graph.nodes[abs].origin = Some(origin);
    model.graph.nodes[relu].origin = Some(origin);
    let left = out(&model, relu);
    model.graph.values[left].name = Some("relu".into());
    let product = node(&mut model, "MatMul", &[left, tied], &[]);
    let other = node(&mut model, "MatMul", &[transposed, tied], &[]);
    let y = out(&model, product);
    model.graph.set_outputs(main, [y, y, x, out(&model, other)]);
    model.output_names = ["y", "again", "same", "z"].map(str::to_owned).into();
    model
}

fn read(path: &Path) -> ModelProto {
    ModelProto::decode(fs::read(path).unwrap().as_slice()).unwrap()
}

fn place(tensor: &TensorProto, key: &str) -> Option<String> {
    tensor.external_data.iter().find(|e| e.key() == key).map(|e| e.value().to_owned())
}

/// Returns the files beside the source file.
fn files(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|n| n != "source.bin");
    names.sort();
    names
}

#[test]
fn names_are_kept_made_and_copied() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    write(&small(dir.path()), &path, &WriteOptions::default()).unwrap();
    let model = read(&path);
    assert_eq!((model.ir_version(), model.producer_name()), (9, "onnxport"));
    let graph = model.graph.unwrap();
    let text: Vec<String> = (graph.node.iter())
        .map(|n| format!("{} = {}({})", n.output.join(", "), n.op_type(), n.input.join(", ")))
        .collect();
    assert_eq!(
        text,
        [
            "val = Add(x, a.weight)",
            "relu.1 = Abs(val)",
            "relu = Relu(relu.1)",
            "y = MatMul(relu, b.weight)",
            "z = MatMul(c.weight, b.weight)",
            "again = Identity(y)",
            "same = Identity(x)",
        ]
    );
    let metadata: Vec<_> = graph.node[2].metadata_props.iter().map(|e| (e.key(), e.value())).collect();
    assert_eq!(metadata, [("namespace", "layer.act"), ("onnxport.node", "relu")]);
    let outputs: Vec<_> = graph.output.iter().map(ValueInfoProto::name).collect();
    assert_eq!(outputs, ["y", "again", "same", "z"]);
    let Some(type_proto::Value::TensorType(ty)) = graph.input[0].r#type.clone().unwrap().value else {
        panic!()
    };
    let dims: Vec<_> = ty.shape.unwrap().dim.into_iter().map(|d| d.value.unwrap()).collect();
    assert_eq!(dims, [dimension::Value::DimParam("s0".into()), dimension::Value::DimValue(512)]);
    let typed: Vec<_> = graph.value_info.iter().map(ValueInfoProto::name).collect();
    assert_eq!(typed, ["val", "relu.1", "relu"]);
}

#[test]
fn the_name_of_a_call_belongs_to_its_result_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = small(dir.path());
    // The result of `relu` is gone, that of `matmul` is called as an output, and that of `add` as an input.
    let main = model.graph.main();
    let [.., left, product, _] = model.graph.order(main).collect::<Vec<_>>()[..] else { panic!() };
    let (relu, y) = (out(&model, left), out(&model, product));
    model.graph.values[relu].name = None;
    model.graph.values[y].name = Some("matmul".into());
    model.graph.nodes[product].origin = Some(model.origins.push(Origin::new("matmul", CallSite::default())));
    let sum = model.graph.order(main).next().unwrap();
    let total = out(&model, sum);
    model.graph.values[total].name = Some("x".into());
    model.graph.nodes[sum].origin = Some(model.origins.push(Origin::new("x_1", CallSite::default())));
    let path = dir.path().join("m.onnx");
    write(&model, &path, &WriteOptions::default()).unwrap();
    let graph = read(&path).graph.unwrap();
    let results = |node: &onnxport_proto::NodeProto| {
        let entry = node.metadata_props.iter().find(|entry| entry.key() == "onnxport.results");
        (node.output[0].clone(), entry.map(|entry| entry.value().to_owned()))
    };
    let some = |name: &str| Some(name.to_owned());
    let found: Vec<_> = graph.node[..4].iter().map(results).collect();
    let expected = [("x_2", some("x")), ("relu.1", None), ("relu.2", None), ("y", some("matmul"))];
    assert_eq!(found, expected.map(|(name, results)| (name.to_owned(), results)));
}

#[test]
fn values_of_merged_calls_are_named_after_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = small(dir.path());
    let main = model.graph.main();
    let sum = model.graph.order(main).next().unwrap();
    let merged = Origin::new("attention+reshape+expand_1", CallSite::default());
    model.graph.nodes[sum].origin = Some(model.origins.push(merged));
    let path = dir.path().join("m.onnx");
    write(&model, &path, &WriteOptions::default()).unwrap();
    // The value is not the result of the call, so that it has not its name.
    assert_eq!(read(&path).graph.unwrap().node[0].output, ["attention.1"]);
}

#[test]
fn inline_weights_are_the_source_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    let report = write(&small(dir.path()), &path, &WriteOptions::default()).unwrap();
    assert_eq!(report.model_bytes, fs::metadata(&path).unwrap().len());
    assert_eq!((report.data, report.tensors), (vec![], 3));
    assert_eq!(files(dir.path()), ["m.onnx"]);
    let graph = read(&path).graph.unwrap();
    let source = fs::read(dir.path().join("source.bin")).unwrap();
    assert_eq!(graph.initializer[0].raw_data(), &source[2048..]);
    let transposed: Vec<f32> =
        (0u16..1024).step_by(2).chain((1u16..1024).step_by(2)).map(f32::from).collect();
    let transposed: Vec<u8> = f32s(&transposed);
    assert_eq!(graph.initializer[2].raw_data(), transposed);
}

#[test]
fn external_weights_are_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    let options = WriteOptions { external_data: ExternalData::External, ..WriteOptions::default() };
    let report = write(&small(dir.path()), &path, &options).unwrap();
    assert_eq!((report.tied, report.data_bytes), (1, 2048 + 4096));
    assert_eq!(files(dir.path()), ["m.onnx", "m.onnx.data"]);
    let data = fs::read(dir.path().join("m.onnx.data")).unwrap();
    assert_eq!(data.len(), 2048 + 4096);
    let weights = read(&path).graph.unwrap().initializer;
    assert_eq!(place(&weights[0], "location").unwrap(), "m.onnx.data");
    assert_eq!(place(&weights[0], "offset"), place(&weights[1], "offset"));
    assert_eq!(place(&weights[2], "offset").unwrap(), "2048");
    assert_eq!(data[..2048], fs::read(dir.path().join("source.bin")).unwrap()[2048..]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode("m.onnx"), mode("source.bin"));
    }
}

#[test]
fn writing_twice_gives_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let model = small(dir.path());
    let (a, b) = (dir.path().join("a.onnx"), dir.path().join("b.onnx"));
    write(&model, &a, &WriteOptions::default()).unwrap();
    write(&model.clone(), &b, &WriteOptions::default()).unwrap();
    assert_eq!(fs::read(a).unwrap(), fs::read(b).unwrap());
}

#[test]
fn a_source_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let model = small(dir.path());
    let source = dir.path().join("source.bin");
    let before = fs::read(&source).unwrap();
    let report = write(&model, &source, &WriteOptions::default()).unwrap_err();
    assert_eq!(report.diagnostics[0].code.as_str(), "OP603");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&source, dir.path().join("m.onnx.data")).unwrap();
        let options = WriteOptions { external_data: ExternalData::External, ..WriteOptions::default() };
        let report = write(&model, &dir.path().join("m.onnx"), &options).unwrap_err();
        assert_eq!(report.diagnostics[0].code.as_str(), "OP603");
    }
    assert_eq!(fs::read(&source).unwrap(), before);
}

#[test]
fn a_source_with_the_name_of_a_data_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.onnx");
    let mut model = small(dir.path());
    for name in ["m.onnx.data", "m-00002-of-00003.onnx.data"] {
        // It would be removed with the model that is replaced, though nothing is written to it.
        let source = dir.path().join(name);
        fs::rename(dir.path().join("source.bin"), &source).unwrap();
        let file = MappedFile::open(&source).unwrap();
        for initializer in &mut model.graph.initializers {
            let Source::Mapped { file: old, .. } = &mut initializer.data.source else { panic!("a file") };
            *old = file.clone();
        }
        for external_data in [ExternalData::Inline, ExternalData::External, ExternalData::Reference] {
            let options = WriteOptions { external_data, ..WriteOptions::default() };
            let report = write(&model, &path, &options).unwrap_err();
            assert_eq!(report.diagnostics[0].code.as_str(), "OP603");
        }
        assert_eq!(files(dir.path()), [name]);
        write(&model, &dir.path().join("other.onnx"), &WriteOptions::default()).unwrap();
        fs::remove_file(dir.path().join("other.onnx")).unwrap();
        fs::rename(&source, dir.path().join("source.bin")).unwrap();
    }
}

#[test]
fn files_that_were_read_are_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rules.toml");
    fs::write(&path, "rules").unwrap();
    let gone = dir.path().join("gone");
    let options = WriteOptions { sources: vec![gone, path.clone()], ..WriteOptions::default() };
    let report = write(&Model::default(), &path, &options).unwrap_err();
    assert_eq!(report.diagnostics[0].code.as_str(), "OP603");
    let hidden = dir.path().join("m.onnx.sha256");
    fs::rename(&path, &hidden).unwrap();
    let options = WriteOptions { sources: vec![hidden.clone()], ..WriteOptions::default() };
    let report = write(&Model::default(), &dir.path().join("m.onnx"), &options).unwrap_err();
    assert_eq!(report.diagnostics[0].code.as_str(), "OP603");
    assert_eq!(fs::read(&hidden).unwrap(), b"rules");
}

#[test]
fn the_program_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("program.pt2");
    fs::write(&path, "a program without weights").unwrap();
    let options = WriteOptions { program: Some(MappedFile::open(&path).unwrap()), ..WriteOptions::default() };
    let report = write(&Model::default(), &path, &options).unwrap_err();
    assert_eq!(report.diagnostics[0].code.as_str(), "OP603");
    assert_eq!(fs::read(&path).unwrap(), b"a program without weights");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let report = write(&Model::default(), &path, &WriteOptions::default()).unwrap_err();
    assert_eq!(report.diagnostics[0].code.as_str(), "OP601");
    assert!(fs::metadata(&path).unwrap().file_type().is_socket());
}

#[test]
fn errors_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = small(dir.path());
    let missing = dir.path().join("missing").join("m.onnx");
    let report = write(&model, &missing, &WriteOptions::default()).unwrap_err();
    assert!(report.diagnostics[0].message.contains("missing"), "{:?}", report.diagnostics);
    // A weight that claims more than its source has.
    model.graph.initializers[0].data.shape = vec![4096];
    for external_data in [ExternalData::Inline, ExternalData::External] {
        let path = dir.path().join("m.onnx");
        let report =
            write(&model, &path, &WriteOptions { external_data, ..WriteOptions::default() }).unwrap_err();
        assert_eq!(report.diagnostics[0].code.as_str(), "OP601");
        assert!(files(dir.path()).is_empty(), "{:?}", files(dir.path()));
    }
    model.graph.initializers[0].data.shape = vec![1 << 40];
    model.graph.initializers[0].data.strides = Some(vec![0]);
    let options = WriteOptions { external_data: ExternalData::Inline, ..WriteOptions::default() };
    let report = write(&model, &dir.path().join("m.onnx"), &options).unwrap_err();
    assert_eq!(report.diagnostics[0].code.as_str(), "OP602");
    model.graph.initializers[0].data.shape = vec![1 << 40, 1 << 40];
    model.graph.initializers[0].data.strides = Some(vec![0, 0]);
    let report = write(&model, &dir.path().join("m.onnx"), &WriteOptions::default()).unwrap_err();
    assert_eq!(report.diagnostics[0].code.as_str(), "OP602");
    assert!(files(dir.path()).is_empty());
}

#[test]
fn states_are_inputs_with_defaults() {
    let dir = tempfile::tempdir().unwrap();
    let mut model =
        Model { opsets: vec![OpsetImport { domain: String::new(), version: 18 }], ..Model::default() };
    let main = model.graph.main();
    let ty = Type::tensor(DType::F32, Shape::of([Dim::Const(2)]));
    let steps = model.graph.add_input(main, Some("steps".into()), ty);
    let next = node(&mut model, "Add", &[steps, steps], &[]);
    model.graph.set_outputs(main, [out(&model, next)]);
    model.output_names = vec!["steps_next".into()];
    model.states = vec![State {
        input: steps,
        output: 0,
        kind: StateKind::Buffer,
        name: "counter.steps".into(),
        initial: Some(LazyTensor::inline(DType::F32, vec![2], f32s(&[1.0, 2.0]))),
    }];
    model.metadata = vec![("zzz".into(), "1".into()), ("aaa".into(), "2".into())];
    let path = dir.path().join("m.onnx");
    write(&model, &path, &WriteOptions::default()).unwrap();
    let proto = read(&path);
    let metadata: Vec<_> = proto.metadata_props.iter().map(|e| (e.key(), e.value())).collect();
    let state = r#"[{"input":"steps","output":"steps_next","kind":"buffer","name":"counter.steps"}]"#;
    let pair = r#"[{"input":"steps","output":"steps_next"}]"#;
    assert_eq!(
        metadata,
        [("aaa", "2"), ("onnxport.in_place", pair), ("onnxport.state", state), ("zzz", "1")]
    );
    let graph = proto.graph.unwrap();
    assert_eq!(graph.initializer[0].name(), graph.input[0].name());
    assert_eq!(graph.initializer[0].raw_data(), f32s(&[1.0, 2.0]));
}

#[test]
fn nested_blocks_return_values_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let mut model =
        Model { opsets: vec![OpsetImport { domain: String::new(), version: 21 }], ..Model::default() };
    let main = model.graph.main();
    let x =
        model.graph.add_input(main, Some("x".into()), Type::tensor(DType::F32, Shape::of([Dim::Const(2)])));
    let c = model.graph.add_input(main, Some("c".into()), Type::tensor(DType::Bool, Shape::of([])));
    let (yes, no) = (model.graph.add_block(main), model.graph.add_block(main));
    let relu = node_in(&mut model, yes, "Relu", &[x], &[]);
    model.graph.set_outputs(yes, [out(&model, relu)]);
    model.graph.set_outputs(no, [x]);
    let branches = [("then_branch", Attr::Block(yes)), ("else_branch", Attr::Block(no))];
    let chosen = node(&mut model, "If", &[c], &branches);
    model.graph.set_outputs(main, [out(&model, chosen)]);
    model.output_names = vec!["y".into()];
    let path = dir.path().join("m.onnx");
    write(&model, &path, &WriteOptions::default()).unwrap();
    let proto = read(&path);
    assert_eq!(proto.ir_version(), 10);
    let node = &proto.graph.unwrap().node[0];
    let branch = |name: &str| node.attribute.iter().find(|a| a.name() == name).unwrap().g.clone().unwrap();
    let (yes, no) = (branch("then_branch"), branch("else_branch"));
    assert_eq!((yes.node[0].op_type(), yes.output[0].name()), ("Relu", "val"));
    assert_eq!((no.node[0].op_type(), no.node[0].input[0].as_str()), ("Identity", "x"));
    assert_eq!(no.output[0].name(), no.node[0].output[0]);
    assert_ne!(no.output[0].name(), "x");
}
