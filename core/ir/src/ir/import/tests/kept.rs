//! Metadata and unbound weights survive reading and writing.

use super::*;
use crate::onnx::{UNBOUND_KEY, UNBOUND_LOCATION};

/// One step of training of [`graph`]: `w = w - lr * y`, with `lr` beside the model.
fn step() -> TrainingInfoProto {
    let rate = TensorProto {
        name: some("lr"),
        dims: vec![2],
        data_type: Some(1),
        data_location: Some(DataLocation::External as i32),
        external_data: vec![entry("location", "w.bin"), entry("offset", "4")],
        ..TensorProto::default()
    };
    let algorithm = GraphProto {
        name: some("step"),
        initializer: vec![rate],
        node: vec![node("Mul", &["lr", "y"], &["d"]), node("Sub", &["w", "d"], &["w_1"])],
        output: vec![value("w_1", &["2"])],
        ..GraphProto::default()
    };
    let initialization = GraphProto {
        name: some("start"),
        node: vec![node("RandomNormal", &[], &["w_0"])],
        output: vec![value("w_0", &["2"])],
        ..GraphProto::default()
    };
    TrainingInfoProto {
        initialization: Some(initialization),
        algorithm: Some(algorithm),
        initialization_binding: vec![entry("w", "w_0")],
        update_binding: vec![entry("w", "w_1")],
    }
}

/// Returns the refusal of a model with this training information.
fn misfit(info: TrainingInfoProto) -> String {
    let mut proto = model(graph());
    proto.training_info = vec![info];
    let read = decoded(proto, Path::new("m.onnx")).unwrap();
    let found = valid::validate(&read, &valid::StatedTypes::default());
    found.into_iter().map(|d| d.message).collect::<Vec<_>>().join("\n")
}

#[test]
fn training_information_is_kept_and_takes_its_tensors_along() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    std::fs::write(folder.path().join("w.bin"), [9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let mut proto = model(graph());
    proto.training_info = vec![step()];
    std::fs::write(&path, proto.encode_to_vec()).unwrap();
    let read = import(&path).unwrap();
    assert!(valid::validate(&read, &valid::StatedTypes::default()).is_empty());
    let mut wanted = step();
    let rate = &mut wanted.algorithm.as_mut().unwrap().initializer[0];
    (rate.data_location, rate.external_data) = (None, Vec::new());
    rate.raw_data = Some(Bytes::from_static(&[1, 2, 3, 4, 5, 6, 7, 8]));
    // There is no `w.bin` in the other folder.
    let out = written(&read);
    assert_eq!(out.training_info, [wanted]);
    assert_eq!(out.graph.as_ref().unwrap().node, proto.graph.unwrap().node);
    let text = read.to_text();
    let parsed = Model::parse(&text).unwrap();
    assert_eq!(parsed.to_text(), text);
    assert_eq!(written(&parsed).training_info, out.training_info);
    std::fs::write(folder.path().join("w.bin"), [0; 11]).unwrap();
    let why = import(&path).unwrap_err().message;
    assert!(why.contains("in its training information, the initializer `lr` takes bytes up to 12"), "{why}");
}

#[test]
fn training_information_fits_its_model() {
    let inline = || {
        let mut info = step();
        info.algorithm.as_mut().unwrap().initializer[0] = tensor("lr", &[2], &[0.5, 0.5]);
        info
    };
    assert_eq!(misfit(inline()), "");
    let change = |edit: &dyn Fn(&mut TrainingInfoProto)| {
        let mut info = inline();
        edit(&mut info);
        misfit(info)
    };
    let update = |entries: &[(&str, &str)]| {
        change(&|info| info.update_binding = entries.iter().map(|(k, v)| entry(k, v)).collect())
    };
    assert_eq!(update(&[("w", "y"), ("lr", "w_1")]), "", "outputs of both graphs, initializers of both");
    assert!(update(&[("x", "w_1")]).contains("assigns a value to the initializer `x`, which does not exist"));
    assert!(update(&[("w", "d")]).contains("binds `w` to `d`, which is not an output"));
    assert!(update(&[("w", "w_0")]).contains("binds `w` to `w_0`"), "that of the other graph");
    assert!(update(&[("w", "w_1"), ("w", "w_1")]).contains("updates `w` twice"));
    let early = change(&|info| info.algorithm.as_mut().unwrap().node.reverse());
    assert!(early.contains("uses `d`, which is not defined before"), "{early}");
    let inner = GraphProto { node: vec![node("Relu", &["lr"], &["only"])], ..GraphProto::default() };
    let leaves = change(&|info| {
        let nodes = &mut info.algorithm.as_mut().unwrap().node;
        nodes.push(with_body(node("If", &["w"], &["r"]), "then_branch", inner.clone()));
        nodes.push(node("Relu", &["only"], &["s"]));
    });
    assert!(leaves.contains("uses `only`"), "{leaves}");
}

#[test]
fn new_names_are_not_those_of_training_information() {
    // The branch's `y` shadows the output of the main graph.
    let branch = GraphProto {
        node: vec![node("Relu", &["x"], &["y"])],
        output: vec![value("y", &["N", "2"])],
        ..GraphProto::default()
    };
    let condition =
        TensorProto { name: some("c"), data_type: Some(9), int32_data: vec![1], ..TensorProto::default() };
    let with = |name: &str| {
        let mut graph = graph();
        graph.initializer.push(condition.clone());
        let both = with_body(node("If", &["c"], &["z"]), "then_branch", branch.clone());
        graph.node.push(with_body(both, "else_branch", branch.clone()));
        let mut proto = model(graph);
        let algorithm = GraphProto { node: vec![node("Relu", &["y"], &[name])], ..GraphProto::default() };
        proto.training_info = vec![TrainingInfoProto { algorithm: Some(algorithm), ..Default::default() }];
        let mut out = written(&read(proto)).graph.unwrap();
        let branches = out.node.remove(1).attribute.into_iter().map(|a| a.g.unwrap());
        branches.map(|graph| graph.node[0].output[0].clone()).collect::<Vec<_>>()
    };
    assert_eq!(with("t"), ["y_1", "y_2"]);
    assert_eq!(with("y_1"), ["y_2", "y_3"]);
}

#[test]
fn lists_hold_tensors_of_texts() {
    let texts = TensorProto {
        dims: vec![2],
        data_type: Some(8),
        string_data: vec![Bytes::from_static(b"a"), Bytes::from_static(b"\xff")],
        ..TensorProto::default()
    };
    let numbers = TensorProto {
        dims: vec![1],
        data_type: Some(1),
        raw_data: Some(Bytes::from_static(&[0, 0, 128, 63])),
        ..TensorProto::default()
    };
    let list = AttributeProto {
        name: some("list"),
        r#type: Some(AttributeType::Tensors as i32),
        tensors: vec![texts, numbers],
        ..AttributeProto::default()
    };
    let mut graph = graph();
    graph.node[0] = NodeProto {
        domain: some("somebody's"),
        op_type: some("Own"),
        attribute: vec![list.clone()],
        ..graph.node[0].clone()
    };
    let mut proto = model(graph);
    proto.opset_import.push(OperatorSetIdProto { domain: some("somebody's"), version: Some(1) });
    let read = read(proto);
    assert_eq!(written(&read).graph.unwrap().node[0].attribute, [list]);
    let text = read.to_text();
    assert!(text.contains(r#"tensors[string[2] ["a", hex "ff"], f32[1] [1.0]]"#), "{text}");
    assert_eq!(Model::parse(&text).unwrap().to_text(), text);
}

/// [`graph`] with two more weights, all of them unbound; the last is the one before it.
fn waiting(metadata: &str) -> ModelProto {
    let wait = |name: &str, dims: &[i64], bytes: &str| TensorProto {
        data_location: Some(DataLocation::External as i32),
        external_data: vec![
            entry("location", UNBOUND_LOCATION),
            entry("offset", "0"),
            entry("length", bytes),
        ],
        float_data: Vec::new(),
        ..tensor(name, dims, &[])
    };
    let mut graph = graph();
    graph.initializer = vec![wait("w", &[2], "8"), wait("c", &[3, 2], "24"), wait("d", &[3, 2], "24")];
    graph.node.push(node("Add", &["c", "d"], &["e"]));
    let mut proto = model(graph);
    proto.metadata_props = vec![entry(UNBOUND_KEY, metadata)];
    proto
}

#[test]
fn a_model_that_waits_for_weights_goes_on_waiting() {
    let described = r#"[{"initializer":"w","name":"layer.weight","dtype":"f32","shape":[2]},{"initializer":"c","name":"c","dtype":"c64","shape":[3]},{"initializer":"d","name":"other.c","dtype":"c64","shape":[3],"tied":"c"}]"#;
    let proto = waiting(described);
    let read = read(proto.clone());
    assert_eq!(read.graph.initializers[0].data.unbound().unwrap().name, "layer.weight");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let refused = write(&read, &path, &WriteOptions::default()).unwrap_err();
    assert_eq!(refused.diagnostics[0].code.as_str(), "OP630");
    let report = write(&read, &path, &WriteOptions { weightless: true, ..WriteOptions::default() }).unwrap();
    assert_eq!(report.unbound, 3);
    let out = ModelProto::decode(Bytes::from(std::fs::read(path).unwrap())).unwrap();
    assert_eq!(out.graph.unwrap().initializer, proto.graph.unwrap().initializer);
    assert_eq!(out.metadata_props, proto.metadata_props);
    for (from, to, why) in [
        ("[2]", "[3]", "does not match the initializer `w`"),
        ("f32", "f00", "has the element type `f00`"),
        (r#""tied":"c""#, r#""tied":"w""#, "ties `d` to an incompatible tensor"),
        (r#""initializer":"w""#, r#""initializer":"v""#, "describes `v`, which waits for no data"),
        ("[{", "[", "is damaged"),
        (r#"{"initializer":"w","name":"layer.weight","dtype":"f32","shape":[2]},"#, "", "cannot be read"),
    ] {
        assert!(described.contains(from));
        let why_not = super::refused(waiting(&described.replace(from, to)));
        assert!(why_not.contains(why), "{why_not}");
    }
}

#[test]
fn extents_are_at_least_zero_and_simpler_than_they_are_spelled() {
    let dims = ["N", "((N - 2)//2) + 1", "seq-len", "max(0, N)", "a//b-c"];
    let graph = GraphProto {
        name: some("g"),
        input: vec![value("x", &dims)],
        output: vec![value("y", &dims)],
        node: vec![node("Relu", &["x"], &["y"])],
        ..GraphProto::default()
    };
    let read = read(model(graph));
    let x = read.graph.blocks[read.graph.main()].inputs[0];
    let shape = read.graph.values[x].ty.shape().unwrap().dims().unwrap().to_vec();
    let shown: Vec<String> = shape.iter().map(|dim| read.symbols.display(dim.unwrap())).collect();
    assert_eq!(shown, ["N", "N//2", "seq-len", "N", "a//b-c"]);
    let least = |at: usize| read.symbols.range(shape[at].unwrap()).min;
    assert_eq!([0, 1, 2, 3, 4].map(least), [Some(0); 5]);
    let graph = written(&read).graph.unwrap();
    assert_eq!(graph.input, [value("x", &["N", "((N - 2)//2) + 1", "seq-len", "N", "a//b-c"])]);
}
