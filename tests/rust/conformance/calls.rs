//! Bodies that depend on the call, compared with the bodies of the `onnx` package for the same calls: the same operators,
//! attributes and wiring, whatever values are called.

use std::path::Path;

use onnxport_harness::skip;
use onnxport_ir::ir::import::import;
use onnxport_ir::ir::{Function, Graph, Model, Notes, Type};
use onnxport_ir::ops::body;

use crate::files::repository;

/// A function without names, types and notes, as text.
fn bare(mut function: Function) -> String {
    let graph: &mut Graph = &mut function.graph;
    for value in graph.values.ids().collect::<Vec<_>>() {
        let dense = graph.initializer(value).is_some();
        let info = &mut graph.values[value];
        info.name = None;
        if !dense {
            info.ty = Type::Unknown;
        }
    }
    for node in graph.nodes.ids().collect::<Vec<_>>() {
        graph.nodes[node].origin = None;
    }
    graph.notes = Notes::default();
    (function.domain, function.name, function.overload) = <_>::default();
    (function.attributes, function.defaults, function.about) = <_>::default();
    Model { functions: vec![function], ..Model::default() }.to_text()
}

/// Returns the difference between the body of the call in `file` and ONNX's.
fn compare(file: &Path) -> Result<(), String> {
    let model = import(file).map_err(|why| why.message)?;
    let graph = &model.graph;
    let node = &graph.nodes[graph.order(graph.main()).next().ok_or("there is no node")?];
    let types = node.inputs.iter().map(|v| v.map_or(Type::Unknown, |v| graph.values[v].ty.clone()));
    let opset = model.opsets.iter().find(|o| o.domain == node.domain).map_or(0, |o| o.version);
    let found = body(graph, node, &types.collect::<Vec<_>>(), opset).map(std::borrow::Cow::into_owned);
    let expected = model.functions.first().cloned();
    let found = found.map(|mut function| {
        // Such a result only keeps the place of one that the call does not ask for.
        let graph = &mut function.graph;
        let main = graph.main();
        let kept = graph.blocks[main].outputs().iter().copied().filter(|v| {
            let name = graph.values[*v].name.as_deref().unwrap_or_default();
            !matches!(name, "PresentKey" | "PresentValue" | "QKAttnWeight")
        });
        let kept: Vec<_> = kept.collect();
        graph.set_outputs(main, kept);
        function
    });
    match (found.map(bare), expected.map(bare)) {
        (found, expected) if found == expected => Ok(()),
        (None, Some(_)) => Err("there is no body".to_owned()),
        (Some(_), None) => Err("there is a body, and ONNX has none".to_owned()),
        (found, expected) => {
            let (found, expected) = (found.unwrap_or_default(), expected.unwrap_or_default());
            let mut pairs = found.lines().zip(expected.lines()).enumerate();
            let first = pairs.find(|(_, (a, b))| a != b);
            Err(match first {
                Some((at, (a, b))) => format!("line {at} is `{}`, not `{}`", a.trim(), b.trim()),
                None => format!("{} lines, not {}", found.lines().count(), expected.lines().count()),
            })
        }
    }
}

#[test]
fn bodies_are_those_of_the_onnx_package() {
    let folder = repository().join("target/onnx-calls");
    let files = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "onnx")).collect();
    files.sort();
    if files.is_empty() {
        skip("`cargo xtask conformance` writes the bodies of the onnx package");
    }
    let wrong: Vec<String> = files
        .iter()
        .filter_map(|file| {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            compare(file).err().map(|why| format!("{name}: {why}"))
        })
        .collect();
    println!("bodies of calls: {} of {} are ONNX's", files.len() - wrong.len(), files.len());
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}
