//! Initializers of graphs inside of nodes.

use super::{f32s, mapped, node, node_in, out, place, read, weight};
use crate::ir::{Attr, Model, OpsetImport, Shape, Type, import};
use crate::onnx::{OnnxFile, nested_initializers};
use crate::sym::Dim;
use crate::tensor::DType;
use crate::write::{ExternalData, WriteOptions, plan_tensors, write};

/// `y = x + a if c else (x if c else x + b)`; `a` and `b` lie where they are read, and `a` has a twin around.
fn branches(dir: &std::path::Path) -> Model {
    let values: Vec<f32> = (0u16..1024).map(f32::from).collect();
    let file = mapped(dir, &f32s(&values));
    let mut model =
        Model { opsets: vec![OpsetImport { domain: String::new(), version: 21 }], ..Model::default() };
    let main = model.graph.main();
    let ty = Type::tensor(DType::F32, Shape::of([Dim::Const(512)]));
    let x = model.graph.add_input(main, Some("x".into()), ty);
    let c = model.graph.add_input(main, Some("c".into()), Type::tensor(DType::Bool, Shape::of([])));
    let twin = model.graph.add_weight(Some("twin".into()), weight(&file, &[512], 0, None));
    let a = model.graph.add_weight(Some("a".into()), weight(&file, &[512], 0, None));
    let b = model.graph.add_weight(Some("b".into()), weight(&file, &[512], 512, None));
    let (yes, no) = (model.graph.add_block(main), model.graph.add_block(main));
    let (same, deep) = (model.graph.add_block(no), model.graph.add_block(no));
    model.graph.hold_in(a, yes);
    model.graph.hold_in(b, deep);
    let first = node_in(&mut model, yes, "Add", &[x, a], &[]);
    model.graph.set_outputs(yes, [out(&model, first)]);
    model.graph.set_outputs(same, [x]);
    let second = node_in(&mut model, deep, "Add", &[x, b], &[]);
    model.graph.set_outputs(deep, [out(&model, second)]);
    let inner = [("then_branch", Attr::Block(same)), ("else_branch", Attr::Block(deep))];
    let inner = node_in(&mut model, no, "If", &[c], &inner);
    model.graph.set_outputs(no, [out(&model, inner)]);
    let outer = [("then_branch", Attr::Block(yes)), ("else_branch", Attr::Block(no))];
    let chosen = node(&mut model, "If", &[c], &outer);
    let chosen = out(&model, chosen);
    let sum = node(&mut model, "Add", &[chosen, twin], &[]);
    model.graph.set_outputs(main, [out(&model, sum)]);
    model.output_names = vec!["y".into()];
    model
}

#[test]
fn initializers_of_branches_go_into_the_data_file() {
    let dir = tempfile::tempdir().unwrap();
    let model = branches(dir.path());
    let path = dir.path().join("m.onnx");
    let options = WriteOptions { external_data: ExternalData::External, ..WriteOptions::default() };
    let (planned, table) = plan_tensors(&model, &path, &options).unwrap();
    let report = write(&model, &path, &options).unwrap();
    assert_eq!((report.tensors, report.tied, report.data_bytes), (3, 1, 4096));
    assert_eq!((planned.tensors.stored, planned.tensors.tied), (2, 1));
    // Attributes are in the order of their names.
    let names: Vec<&str> = table.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
    assert_eq!(names, ["twin", "b", "a"]);
    let graph = read(&path).graph.unwrap();
    let [twin] = &graph.initializer[..] else { panic!("{:?}", graph.initializer) };
    let nested = nested_initializers(&graph);
    let places: Vec<_> =
        nested.iter().map(|t| (t.name(), place(t, "offset"), t.raw_data.is_some())).collect();
    assert_eq!(place(twin, "offset").as_deref(), Some("0"));
    assert_eq!(places, [("b", Some("2048".to_owned()), false), ("a", Some("0".to_owned()), false)]);
    let file = OnnxFile::open(&path).unwrap();
    assert_eq!((file.weights.len(), file.nested.len()), (1, 2));
    file.check_data().unwrap();
    // A missing file is noticed though nothing else lies in it.
    let short = std::fs::File::options().write(true).open(&report.data[0]).unwrap();
    short.set_len(2048).unwrap();
    let missing = file.check_data().unwrap_err();
    assert!(missing.message.contains("`b`"), "{}", missing.message);
}

#[test]
fn what_was_read_is_written_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let model = branches(dir.path());
    let [first, again, inline] = ["first", "again", "inline"].map(|name| {
        let folder = dir.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder.join("m.onnx")
    });
    let options = WriteOptions { external_data: ExternalData::External, ..WriteOptions::default() };
    write(&model, &first, &options).unwrap();
    write(&import::import(&first).unwrap(), &again, &options).unwrap();
    let data = |path: &std::path::Path| std::fs::read(path.with_extension("onnx.data")).unwrap();
    assert_eq!(data(&first), data(&again));
    assert_eq!(read(&first).graph, read(&again).graph);
    write(&import::import(&first).unwrap(), &inline, &WriteOptions::default()).unwrap();
    let graph = read(&inline).graph.unwrap();
    let held: Vec<_> = nested_initializers(&graph).iter().map(|t| t.raw_data().len()).collect();
    assert_eq!(held, [2048, 2048]);
}
