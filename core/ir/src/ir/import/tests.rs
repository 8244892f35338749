mod kept;

use std::path::Path;

use bytes::Bytes;
use onnxport_proto::attribute_proto::AttributeType;
use onnxport_proto::tensor_proto::DataLocation;
use onnxport_proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, SparseTensorProto,
    StringStringEntryProto, TensorAnnotation, TensorProto, TrainingInfoProto, TypeProto, ValueInfoProto,
    tensor_shape_proto, type_proto,
};
use prost::Message;

use super::{check_calls, decoded, functions, import};
use crate::diagnose::Code;
use crate::ir::{Attr, Model};
use crate::tensor::{DType, Source};
use crate::valid;
use crate::write::{ExternalData, WriteOptions, write};

#[expect(clippy::unnecessary_wraps, reason = "what fields of messages are")]
fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn entry(key: &str, value: &str) -> StringStringEntryProto {
    StringStringEntryProto { key: some(key), value: some(value) }
}

fn value(name: &str, dims: &[&str]) -> ValueInfoProto {
    let dims = dims.iter().map(|dim| {
        let value = match dim.parse() {
            Ok(extent) => tensor_shape_proto::dimension::Value::DimValue(extent),
            Err(_) => tensor_shape_proto::dimension::Value::DimParam((*dim).to_owned()),
        };
        tensor_shape_proto::Dimension { value: Some(value), denotation: None }
    });
    let shape = onnxport_proto::TensorShapeProto { dim: dims.collect() };
    let tensor = type_proto::Tensor { elem_type: Some(1), shape: Some(shape) };
    let ty = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), denotation: None };
    ValueInfoProto { name: some(name), r#type: Some(ty), ..ValueInfoProto::default() }
}

fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    NodeProto { op_type: some(op), input: names(inputs), output: names(outputs), ..NodeProto::default() }
}

fn tensor(name: &str, dims: &[i64], data: &[f32]) -> TensorProto {
    TensorProto {
        name: some(name),
        dims: dims.to_vec(),
        data_type: Some(1),
        float_data: data.to_vec(),
        ..TensorProto::default()
    }
}

/// `y = Add(x, w)`.
fn graph() -> GraphProto {
    GraphProto {
        name: some("g"),
        input: vec![value("x", &["N", "2"])],
        output: vec![value("y", &["N", "2"])],
        node: vec![node("Add", &["x", "w"], &["y"])],
        initializer: vec![tensor("w", &[2], &[1.0, 2.0])],
        ..GraphProto::default()
    }
}

fn model(graph: GraphProto) -> ModelProto {
    ModelProto {
        ir_version: Some(10),
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(21) }],
        graph: Some(graph),
        ..ModelProto::default()
    }
}

fn read(proto: ModelProto) -> Model {
    let model = decoded(proto, Path::new("m.onnx")).unwrap_or_else(|error| panic!("{}", error.message));
    let found = valid::validate(&model, &valid::StatedTypes::default());
    assert!(found.is_empty(), "{found:?}");
    model
}

fn refused(proto: ModelProto) -> String {
    let error = decoded(proto, Path::new("m.onnx")).expect_err("a model that is refused");
    assert_eq!(error.code.as_str(), "OP110");
    error.message.split_once("used: ").expect("a reason").1.to_owned()
}

fn written(model: &Model) -> ModelProto {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    write(model, &path, &WriteOptions::default()).unwrap();
    ModelProto::decode(Bytes::from(std::fs::read(path).unwrap())).unwrap()
}

/// A node with the attribute `body`.
fn with_body(mut node: NodeProto, name: &str, body: GraphProto) -> NodeProto {
    let attribute = AttributeProto {
        name: some(name),
        r#type: Some(AttributeType::Graph as i32),
        g: Some(body),
        ..AttributeProto::default()
    };
    node.attribute.push(attribute);
    node
}

#[test]
fn every_form_of_a_tensor_is_read() {
    let with = |data_type: i32, dims: &[i64], fill: &dyn Fn(&mut TensorProto)| {
        let mut tensor = TensorProto {
            name: some("w"),
            dims: dims.to_vec(),
            data_type: Some(data_type),
            ..TensorProto::default()
        };
        fill(&mut tensor);
        let proto = model(GraphProto { initializer: vec![tensor], ..GraphProto::default() });
        decoded(proto, Path::new("m.onnx")).map(|m| m.graph.initializers[0].data.read().unwrap().into_owned())
    };
    assert_eq!(with(1, &[1], &|t| t.float_data = vec![1.0]).unwrap(), 1f32.to_le_bytes());
    assert_eq!(with(14, &[1], &|t| t.float_data = vec![1.0, 0.0]).unwrap().len(), 8);
    assert_eq!(with(7, &[], &|t| t.int64_data = vec![-1]).unwrap(), (-1i64).to_le_bytes());
    assert_eq!(with(12, &[1], &|t| t.uint64_data = vec![7]).unwrap(), 7u32.to_le_bytes());
    assert_eq!(with(10, &[1], &|t| t.int32_data = vec![0x3c00]).unwrap(), 0x3c00u16.to_le_bytes());
    assert_eq!(with(9, &[2], &|t| t.int32_data = vec![0, 1]).unwrap(), [0, 1]);
    assert_eq!(with(3, &[1], &|t| t.int32_data = vec![-3]).unwrap(), [0xfd]);
    assert_eq!(with(22, &[3], &|t| t.int32_data = vec![-1, 7]).unwrap(), [0xff, 7]);
    // The bytes to which `onnx.numpy_helper` packs 1, 2, 3, 4 and 63.
    let six = |t: &mut TensorProto| t.int32_data = vec![1, 2, 3, 4, 63];
    assert_eq!(with(27, &[5], &six).unwrap(), [0x81, 0x30, 0x10, 0x3f]);
    assert_eq!(with(28, &[5], &six).unwrap(), [0x81, 0x30, 0x10, 0x3f]);
    assert!(with(6, &[0, 1 << 40], &|_| {}).unwrap().is_empty());
    let wrong =
        |data_type, dims: &[i64], fill: &dyn Fn(&mut TensorProto)| with(data_type, dims, fill).is_err();
    assert!(wrong(1, &[2], &|t| t.float_data = vec![1.0]));
    assert!(wrong(1, &[1], &|t| t.int32_data = vec![1]), "the wrong field");
    assert!(wrong(3, &[1], &|t| t.int32_data = vec![300]), "no int8");
    assert!(wrong(27, &[1], &|t| t.int32_data = vec![64]), "no six bits");
    assert!(
        wrong(1, &[-1], &|_| {}) && wrong(1, &[1 << 40, 1 << 40], &|_| {}) && wrong(1, &[1 << 40], &|_| {})
    );
    assert!(wrong(99, &[0], &|_| {}) && wrong(0, &[0], &|_| {}));
    assert!(wrong(1, &[1], &|t| (t.float_data, t.raw_data) = (vec![1.0], Some(Bytes::from_static(&[0; 4])))));
}

#[test]
fn external_data_stays_in_its_file_and_in_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let data: Vec<u8> = (0..=255).cycle().take(8192).collect();
    std::fs::write(folder.path().join("w.bin"), &data).unwrap();
    let external = |entries: &[(&str, &str)]| {
        let mut graph = graph();
        graph.initializer[0] = TensorProto {
            name: some("w"),
            dims: vec![1024],
            data_type: Some(1),
            data_location: Some(DataLocation::External as i32),
            external_data: entries.iter().map(|(k, v)| entry(k, v)).collect(),
            ..TensorProto::default()
        };
        std::fs::write(&path, model(graph).encode_to_vec()).unwrap();
        import(&path)
    };
    let read = external(&[("location", "w.bin"), ("offset", "4096"), ("length", "4096")]).unwrap();
    let weight = &read.graph.initializers[0].data;
    assert!(matches!(weight.source, Source::Mapped { offset: 4096, .. }), "{weight:?}");
    assert_eq!(weight.read().unwrap(), &data[4096..]);
    for (location, offset, why) in [
        ("../w.bin", "0", "outside"),
        ("/etc/passwd", "0", "outside"),
        ("a\\w.bin", "0", "outside"),
        ("none.bin", "0", "cannot be read"),
        ("w.bin", "4097", "which has 8192"),
        ("w.bin", "18446744073709551615", "which has 8192"),
        ("w.bin", "-1", "has the offset `-1`"),
        ("", "0", "does not give the location"),
    ] {
        let error = external(&[("location", location), ("offset", offset)]).unwrap_err();
        assert!(error.message.contains(why), "{}", error.message);
    }
}

#[test]
fn what_contradicts_itself_is_refused() {
    let change = |edit: &dyn Fn(&mut GraphProto)| {
        let mut graph = graph();
        edit(&mut graph);
        refused(model(graph))
    };
    assert!(change(&|g| g.node[0].input[1] = "v".into()).contains("`v` is not defined before it"));
    assert!(change(&|g| g.node.push(node("Relu", &["x"], &["y"]))).contains("`y` is defined twice"));
    assert!(change(&|g| g.output[0].name = some("z")).contains("`z` is not defined"));
    assert!(change(&|g| g.input.push(value("x", &[]))).contains("`x` is defined twice"));
    assert!(change(&|g| g.initializer.push(tensor("w", &[0], &[]))).contains("`w` is defined twice"));
    assert!(change(&|g| g.node[0].op_type = None).contains("no operator"));
    let cycle = |g: &mut GraphProto| {
        g.node =
            vec![node("Relu", &["b"], &["a"]), node("Relu", &["a"], &["b"]), node("Relu", &["x"], &["y"])];
    };
    assert!(change(&cycle).contains("`b` is not defined before it"));
    let mut twice = model(graph());
    twice.opset_import.push(OperatorSetIdProto { domain: some("ai.onnx"), version: Some(20) });
    assert!(refused(twice).contains("version 20 and version 21"));
    assert_eq!(refused(ModelProto::default()), "it has no graph");
}

#[test]
fn attributes_are_what_their_type_says() {
    let with = |attribute: AttributeProto| {
        let mut graph = graph();
        graph.node[0].attribute = vec![AttributeProto { name: some("a"), ..attribute }];
        decoded(model(graph), Path::new("m.onnx")).map(|m| {
            let first = m.graph.order(m.graph.main()).next().unwrap();
            m.graph.nodes[first].attributes[0].value.clone()
        })
    };
    let of = |kind: AttributeType| AttributeProto { r#type: Some(kind as i32), ..AttributeProto::default() };
    assert!(matches!(with(of(AttributeType::Int)), Ok(Attr::Int(0))));
    assert!(matches!(with(AttributeProto { i: Some(3), ..AttributeProto::default() }), Ok(Attr::Int(3))));
    let filled =
        AttributeProto { f: Some(2.0), i: Some(0), s: Some(Bytes::new()), ..of(AttributeType::Float) };
    assert!(matches!(with(filled), Ok(Attr::Float(2.0))));
    let blob = AttributeProto { s: Some(Bytes::from_static(b"\xff")), ..of(AttributeType::String) };
    assert!(matches!(with(blob), Ok(Attr::Bytes(_))));
    assert!(with(AttributeProto { ints: vec![1], ..of(AttributeType::Floats) }).is_err());
    assert!(with(AttributeProto::default()).is_err());
    assert!(with(of(AttributeType::Graph)).is_err());
    let reference = AttributeProto { ref_attr_name: some("outer"), ..of(AttributeType::Ints) };
    assert!(matches!(with(reference), Ok(Attr::Ref(_, Some(_)))));
}

#[test]
fn functions_are_ordered_and_none_calls_itself() {
    let function = |name: &str, calls: &[&str]| FunctionProto {
        name: some(name),
        domain: some("my"),
        input: vec!["a".into()],
        output: vec!["b".into()],
        node: calls
            .iter()
            .map(|op| NodeProto { domain: some("my"), ..node(op, &["a"], &[&format!("{op}_")]) })
            .chain([node("Relu", &["a"], &["b"])])
            .collect(),
        ..FunctionProto::default()
    };
    let of = |functions: Vec<FunctionProto>| {
        let mut proto = model(graph());
        proto.opset_import.push(OperatorSetIdProto { domain: some("my"), version: Some(1) });
        proto.functions = functions;
        proto
    };
    let sorted = read(of(vec![function("f", &["g", "h"]), function("g", &["h"]), function("h", &[])]));
    assert_eq!(sorted.functions.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["h", "g", "f"]);
    for functions in [
        vec![function("f", &["f"])],
        vec![function("f", &["g"]), function("g", &["f"])],
        vec![function("e", &["f"]), function("f", &["g"]), function("g", &["f"])],
    ] {
        assert!(refused(of(functions)).contains("calls itself"));
    }
    assert!(refused(of(vec![function("f", &[]), function("f", &[])])).contains("two functions"));
    // A chain as long as there are functions costs no stack.
    let names: Vec<String> = (0..20_000).map(|n| format!("f{n}")).collect();
    let mut chain: Vec<FunctionProto> = names.windows(2).map(|w| function(&w[0], &[&w[1]])).collect();
    chain.push(function(&names[names.len() - 1], &[]));
    assert_eq!(decoded(of(chain), Path::new("m.onnx")).unwrap().functions[0].name, "f19999");
}

#[test]
fn what_functions_become_when_they_are_run_is_counted_and_bounded() {
    // Each calls the one before it twice, the graph the last one.
    let doubling = |count: usize| {
        let mut proto = model(graph());
        proto.functions = (0..count)
            .map(|n| {
                let call = |from: &str, to: &str| match n {
                    0 => node("Neg", &[from], &[to]),
                    _ => NodeProto { domain: some("my"), ..node(&format!("f{}", n - 1), &[from], &[to]) },
                };
                FunctionProto {
                    name: some(&format!("f{n}")),
                    domain: some("my"),
                    node: vec![call("a", "c"), call("c", "b")],
                    ..FunctionProto::default()
                }
            })
            .collect();
        let last = format!("f{}", count - 1);
        proto.graph.as_mut().unwrap().node =
            vec![NodeProto { domain: some("my"), ..node(&last, &["x"], &["y"]) }];
        proto
    };
    // Calls are counted as well as the nodes of their bodies.
    assert_eq!(functions::expanded(&doubling(1)).unwrap(), (3, 1 + 2));
    assert_eq!(functions::expanded(&doubling(3)).unwrap(), (7, 1 + 2 + 4 + 8));
    assert!(check_calls(&doubling(18)).is_ok());
    for many in [20, 40, 200] {
        assert_eq!(check_calls(&doubling(many)).unwrap_err().code, Code::VERIFY_NO_EXECUTOR, "{many}");
    }
    assert!(check_calls(&model(graph())).is_ok());
}

#[test]
fn names_of_nested_graphs_are_kept_unless_they_hide_others() {
    let branch = |made: &str| GraphProto {
        name: some("branch"),
        output: vec![value(made, &["N", "2"])],
        node: vec![node("Mul", &["x", "k"], &[made])],
        initializer: vec![tensor("k", &[1], &[3.0])],
        ..GraphProto::default()
    };
    let condition = TensorProto {
        name: some("c"),
        data_type: Some(9),
        raw_data: Some(Bytes::from_static(&[1])),
        ..TensorProto::default()
    };
    let both = |made: &str| {
        let choice = with_body(node("If", &["c"], &["y"]), "then_branch", branch(made));
        GraphProto {
            node: vec![node("Relu", &["x"], &["r"]), with_body(choice, "else_branch", branch("z"))],
            initializer: vec![condition.clone()],
            ..graph()
        }
    };
    let names = |proto: &ModelProto| {
        let attributes = &proto.graph.as_ref().unwrap().node[1].attribute;
        let bodies = attributes.iter().map(|a| a.g.as_ref().unwrap());
        bodies.map(|g| (g.node[0].output[0].clone(), g.initializer[0].name().to_owned())).collect::<Vec<_>>()
    };
    // Both branches define a `k`, and one defines the name of the whole output.
    let kept = written(&read(model(both("y"))));
    assert_eq!(names(&kept), [("z".into(), "k".into()), ("y".to_owned(), "k".to_owned())]);
    let hidden = written(&read(model(both("r"))));
    assert_eq!(names(&hidden)[1].0, "r_1");
    read(hidden);
}

#[test]
fn what_is_said_about_parts_is_written_again() {
    let mut graph = graph();
    graph.doc_string = some("a graph");
    graph.input[0].doc_string = some("an input");
    graph.input.push(value("w", &["2"]));
    graph.initializer[0].metadata_props = vec![entry("k", "v")];
    graph.node[0].name = some("adds");
    graph.node[0].metadata_props = vec![entry("a", "1"), entry("b", "2")];
    graph.quantization_annotation = vec![TensorAnnotation {
        tensor_name: some("y"),
        quant_parameter_tensor_names: vec![entry("SCALE_TENSOR", "w")],
    }];
    let text = TensorProto {
        name: some("t"),
        dims: vec![2],
        data_type: Some(8),
        string_data: vec![Bytes::from_static(b"a"), Bytes::from_static(b"\xff")],
        ..TensorProto::default()
    };
    graph.initializer.push(text);
    let indices =
        TensorProto { data_type: Some(7), dims: vec![1], int64_data: vec![3], ..TensorProto::default() };
    graph.sparse_initializer = vec![SparseTensorProto {
        values: Some(tensor("s", &[1], &[5.0])),
        indices: Some(indices),
        dims: vec![2, 2],
    }];
    let mut proto = model(graph);
    (proto.producer_name, proto.model_version, proto.doc_string) = (some("somebody"), Some(4), some("text"));
    proto.metadata_props = vec![entry("x", "y")];
    let read = read(proto.clone());
    assert_eq!(read.graph.defaults.len(), 1, "an input with a default");
    let out = written(&read);
    for (kept, wanted) in [(&out.producer_name, &proto.producer_name), (&out.doc_string, &proto.doc_string)] {
        assert_eq!(kept, wanted);
    }
    let (out, wanted) = (out.graph.unwrap(), proto.graph.unwrap());
    assert_eq!((&out.node, &out.input, &out.doc_string), (&wanted.node, &wanted.input, &wanted.doc_string));
    assert_eq!(out.quantization_annotation, wanted.quantization_annotation);
    assert_eq!(out.sparse_initializer[0].values.as_ref().unwrap().name(), "s");
    let text = read.to_text();
    assert_eq!(Model::parse(&text).unwrap().to_text(), text);
    for said in ["\"somebody\"", "hex \"ff\"", "sparse f32[1] [5.0] at i64[1] [3]", "quantised", "= f32[2]"] {
        assert!(text.contains(said), "{said} in {text}");
    }
}

#[test]
fn extents_keep_their_names() {
    for name in ["N", "batch size", "2*N + 1", "a/b", "unk__12", "?", "N, M", "\"q\"", "x]y"] {
        let mut graph = graph();
        (graph.input[0], graph.output[0]) = (value("x", &[name, "2"]), value("y", &[name, "2"]));
        let proto = model(graph);
        let read = read(proto.clone());
        let out = written(&read).graph.unwrap();
        assert_eq!(out.input, proto.graph.unwrap().input, "{name}");
        let text = read.to_text();
        assert_eq!(Model::parse(&text).unwrap().to_text(), text, "{name}");
    }
}

#[test]
fn deep_nesting_is_refused_and_long_graphs_take_linear_time() {
    let mut inner = graph();
    for _ in 0..60 {
        inner =
            GraphProto { node: vec![with_body(node("If", &["w"], &["y"]), "then_branch", inner)], ..graph() };
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep.onnx");
    std::fs::write(&path, model(inner).encode_to_vec()).unwrap();
    assert_eq!(import(&path).unwrap_err().code.as_str(), "OP110");
    let long = |count: usize| {
        let names: Vec<String> = (0..=count).map(|n| format!("v{n}")).collect();
        let mut graph = graph();
        graph.node = names.windows(2).map(|w| node("Relu", &[&w[0]], &[&w[1]])).collect();
        graph.node[0].input[0] = "x".into();
        graph.output[0].name = Some(names[count].clone());
        let proto = model(graph);
        let start = cpu_time::ProcessTime::now();
        let read = decoded(proto, Path::new("m.onnx")).unwrap();
        assert!(valid::validate(&read, &valid::StatedTypes::default()).is_empty());
        start.elapsed().as_secs_f64()
    };
    let (short, double) = (long(20_000), long(80_000));
    assert!(double < 12.0 * short.max(0.02), "{short} s, then {double} s for four times as much");
}

#[test]
fn damaged_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let bytes = model(graph()).encode_to_vec();
    for end in 0..bytes.len() {
        std::fs::write(&path, &bytes[..end]).unwrap();
        if let Ok(model) = import(&path) {
            // The damaged file may still be a smaller valid model.
            valid::validate(&model, &valid::StatedTypes::default());
        }
    }
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x15;
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(model) = import(&path) {
            valid::validate(&model, &valid::StatedTypes::default());
        }
    }
    assert_eq!(import(&folder.path().join("none")).unwrap_err().code.as_str(), "OP101");
}

#[test]
fn weights_stay_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let mut graph = graph();
    let raw = Bytes::from(vec![7u8; 4 << 20]);
    graph.initializer[0] = TensorProto {
        name: some("w"),
        dims: vec![1 << 19, 2],
        data_type: Some(1),
        raw_data: Some(raw),
        ..TensorProto::default()
    };
    graph.input[0] = value("x", &["1", "2"]);
    graph.output[0] = value("y", &["524288", "2"]);
    std::fs::write(&path, model(graph).encode_to_vec()).unwrap();
    let read = import(&path).unwrap();
    let data = &read.graph.initializers[0].data;
    assert!(matches!(data.source, Source::Mapped { .. }), "the weight is in memory");
    assert_eq!((data.dtype, data.read().unwrap().len()), (DType::F32, 4 << 20));
    let copy = folder.path().join("copy.onnx");
    let options = WriteOptions { external_data: ExternalData::External, ..WriteOptions::default() };
    assert_eq!(write(&read, &copy, &options).unwrap().data_bytes, 4 << 20);
    let refused = write(&read, &path, &options).unwrap_err();
    assert_eq!(refused.diagnostics[0].code.as_str(), "OP603");
}
