//! One model of several variants for static shapes: it runs the variant for the sizes of its inputs, and refuses others.
//!
//! ```text
//! sizes ─ Shape, Equal ─→ If ─ variant 1
//!                          └─→ If ─ variant 2
//!                               └─→ a node that fails, whose name has the reason
//! ```
//!
//! Weights in a data file that variants share are initializers of the main graph, each once. Everything else of a variant
//! is in its branch.

use std::collections::BTreeMap;
use std::path::Path;

use onnxport_proto::attribute_proto::AttributeType;
use onnxport_proto::tensor_shape_proto::{Dimension, dimension};
use onnxport_proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, StringStringEntryProto, TensorProto, TypeProto,
    ValueInfoProto, tensor_proto, type_proto,
};
use prost::Message;
use rustc_hash::FxHashMap;

use crate::diagnose::{Code, Diagnostic};
use crate::op;

/// The start of names in the main graph, which no variant has.
const OWN: &str = "onnxport.dispatch";
/// The version of `Shape` with a start and an end.
const OLDEST: i64 = 15;
/// An index that no shape has.
const NOWHERE: i64 = 1 << 40;

/// Where a tensor is in a data file, with its type and its shape.
type Place = (Vec<(String, String)>, i32, Vec<i64>);

/// A size that differs between variants: the position of an input, and an axis.
type Varying = (usize, usize);

/// Joins the models at `paths`, whose types differ in static sizes only. Returns the bytes of the joined one, which belongs
/// into the same folder.
///
/// # Errors
/// A sentence if the models cannot be joined.
pub fn join(paths: &[&Path]) -> Result<Vec<u8>, Diagnostic> {
    let mut models = Vec::new();
    for path in paths {
        let bytes = std::fs::read(path)
            .map_err(|error| Diagnostic::error(Code::READ_IO, format!("{}: {error}", path.display())))?;
        let model = ModelProto::decode(bytes.as_slice())
            .map_err(|error| refused(&format!("`{}` cannot be read: {error}", path.display())))?;
        models.push(model);
    }
    joined(models).map(|model| model.encode_to_vec()).map_err(|why| refused(&why))
}

fn refused(why: &str) -> Diagnostic {
    Diagnostic::error(Code::USAGE, format!("the variants cannot be joined into one model: {why}"))
        .help("leave out `--dispatch`, and choose the file by `variants.json`")
}

fn joined(models: Vec<ModelProto>) -> Result<ModelProto, String> {
    let first = models.first().ok_or("there are none")?;
    let mut whole = ModelProto { graph: None, ..first.clone() };
    whole.metadata_props.retain(|entry| entry.key() != "onnxport.fixed" && entry.key() != "onnxport.sizes");
    if first.opset_import.iter().any(|set| set.domain().is_empty() && set.version() < OLDEST) {
        return Err(format!("that needs opset {OLDEST}"));
    }
    if !first.functions.is_empty() {
        return Err("they have local functions".to_owned());
    }
    let mut graphs = Vec::new();
    for model in &models {
        if model.opset_import != first.opset_import || !model.functions.is_empty() {
            return Err("their operator sets differ".to_owned());
        }
        graphs.push(model.graph.clone().ok_or("one has no graph")?);
    }
    let [inputs, outputs] = [
        merged(&graphs.iter().map(|graph| graph.input.as_slice()).collect::<Vec<_>>())?,
        merged(&graphs.iter().map(|graph| graph.output.as_slice()).collect::<Vec<_>>())?,
    ];
    let varying = varying(&graphs)?;
    let mut main = GraphProto {
        name: Some(first.graph.as_ref().map_or("", GraphProto::name).to_owned()),
        input: inputs,
        output: outputs,
        ..GraphProto::default()
    };
    let sizes: Vec<Vec<i64>> =
        graphs.iter().map(|graph| varying.iter().filter_map(|at| size(graph, *at)).collect()).collect();
    compare(&mut main, &varying, &sizes);
    share(&mut main, &mut graphs);
    let mut rest = nothing(&main, &varying, &sizes)?;
    for (number, graph) in graphs.into_iter().enumerate().rev() {
        let choice = choice(&main, number, branch(graph, &main), rest);
        let names = choice.output.clone();
        rest = GraphProto {
            name: Some(format!("{OWN}.else.{number}")),
            output: names
                .into_iter()
                .map(|name| ValueInfoProto { name: Some(name), ..ValueInfoProto::default() })
                .collect(),
            node: vec![choice],
            ..GraphProto::default()
        };
        for (put, known) in rest.output.iter_mut().zip(&main.output) {
            put.r#type.clone_from(&known.r#type);
        }
    }
    // The outermost choice is in the main graph itself.
    let names: Vec<String> = rest.output.iter().map(|put| put.name().to_owned()).collect();
    main.node.append(&mut rest.node);
    for (from, put) in names.iter().zip(main.output.clone()) {
        main.node.push(node(op::Identity, &[from], &[put.name()], Vec::new()));
    }
    whole.graph = Some(main);
    Ok(whole)
}

/// The inputs or outputs of all variants as one; sizes that differ are unknown.
fn merged(all: &[&[ValueInfoProto]]) -> Result<Vec<ValueInfoProto>, String> {
    let first = *all.first().ok_or("there are none")?;
    let mut merged = first.to_vec();
    for other in all {
        let names = |ports: &[ValueInfoProto]| ports.iter().map(|p| p.name().to_owned()).collect::<Vec<_>>();
        if names(other) != names(first) {
            return Err("their inputs or outputs have different names".to_owned());
        }
        for (port, own) in merged.iter_mut().zip(*other) {
            let name = own.name().to_owned();
            let (Some(known), Some(own)) = (tensor_mut(port), tensor(own)) else {
                return Err(format!("`{name}` is not a tensor"));
            };
            let dims = |ty: &type_proto::Tensor| ty.shape.as_ref().map_or(0, |shape| shape.dim.len());
            if known.elem_type != own.elem_type || dims(known) != dims(own) {
                return Err(format!("`{name}` has different types"));
            }
            let (Some(known), Some(own)) = (&mut known.shape, &own.shape) else { continue };
            for (dim, own) in known.dim.iter_mut().zip(&own.dim) {
                if dim.value != own.value {
                    *dim = Dimension::default();
                }
            }
        }
    }
    Ok(merged)
}

fn tensor(port: &ValueInfoProto) -> Option<&type_proto::Tensor> {
    match &port.r#type {
        Some(TypeProto { value: Some(type_proto::Value::TensorType(tensor)), .. }) => Some(tensor),
        _ => None,
    }
}

fn tensor_mut(port: &mut ValueInfoProto) -> Option<&mut type_proto::Tensor> {
    match &mut port.r#type {
        Some(TypeProto { value: Some(type_proto::Value::TensorType(tensor)), .. }) => Some(tensor),
        _ => None,
    }
}

/// The number at an axis of an input.
fn size(graph: &GraphProto, (input, axis): Varying) -> Option<i64> {
    let dim = tensor(graph.input.get(input)?)?.shape.as_ref()?.dim.get(axis)?;
    match dim.value {
        Some(dimension::Value::DimValue(size)) => Some(size),
        _ => None,
    }
}

/// The sizes that differ: numbers in every variant, which tell each from all others.
fn varying(graphs: &[GraphProto]) -> Result<Vec<Varying>, String> {
    let mut found = Vec::new();
    let inputs = graphs.first().map_or(&[][..], |graph| &graph.input);
    for (input, port) in inputs.iter().enumerate() {
        let axes = tensor(port).and_then(|ty| ty.shape.as_ref()).map_or(0, |shape| shape.dim.len());
        for axis in 0..axes {
            let sizes: Vec<Option<i64>> = graphs.iter().map(|graph| size(graph, (input, axis))).collect();
            if sizes.windows(2).any(|pair| pair.first() != pair.last()) {
                if sizes.contains(&None) {
                    return Err(format!("`{}` is dynamic in some of them", port.name()));
                }
                found.push((input, axis));
            }
        }
    }
    let mut all: Vec<Vec<Option<i64>>> =
        graphs.iter().map(|graph| found.iter().map(|at| size(graph, *at)).collect()).collect();
    all.sort();
    if all.windows(2).any(|pair| pair.first() == pair.last()) {
        return Err("two have the same sizes".to_owned());
    }
    Ok(found)
}

/// Adds the comparison of the inputs' sizes with those of each variant.
fn compare(main: &mut GraphProto, varying: &[Varying], sizes: &[Vec<i64>]) {
    for (at, (input, axis)) in varying.iter().enumerate() {
        let from = main.input.get(*input).map_or("", ValueInfoProto::name).to_owned();
        let bounds = vec![integer("start", *axis as i64), integer("end", *axis as i64 + 1)];
        main.node.push(node(op::Shape, &[&from], &[&format!("{OWN}.size.{at}")], bounds));
    }
    for (number, sizes) in sizes.iter().enumerate() {
        let mut condition = String::new();
        for (at, size) in sizes.iter().enumerate() {
            let (wanted, equal) = (format!("{OWN}.{number}.size.{at}"), format!("{OWN}.{number}.equal.{at}"));
            main.initializer.push(integers(&wanted, vec![1], vec![*size]));
            main.node.push(node(op::Equal, &[&format!("{OWN}.size.{at}"), &wanted], &[&equal], Vec::new()));
            if at > 0 {
                let both = format!("{OWN}.{number}.and.{at}");
                main.node.push(node(op::And, &[&condition, &equal], &[&both], Vec::new()));
                condition = both;
            } else {
                condition = equal;
            }
        }
        main.node.push(node(op::Identity, &[&condition], &[&format!("{OWN}.{number}.fits")], Vec::new()));
    }
}

/// Moves weights in data files into the main graph, each once.
fn share(main: &mut GraphProto, graphs: &mut [GraphProto]) {
    let mut known: BTreeMap<Place, String> = BTreeMap::new();
    for graph in graphs {
        let mut renamed = FxHashMap::default();
        let all = std::mem::take(&mut graph.initializer);
        for mut weight in all {
            if weight.data_location != Some(tensor_proto::DataLocation::External as i32) {
                graph.initializer.push(weight);
                continue;
            }
            let pair = |entry: &StringStringEntryProto| (entry.key().to_owned(), entry.value().to_owned());
            let mut entries: Vec<_> = weight.external_data.iter().map(pair).collect();
            entries.sort();
            let place = (entries, weight.data_type(), weight.dims.clone());
            let count = known.len();
            let name = known.entry(place).or_insert_with(|| format!("{OWN}.weight.{count}")).clone();
            renamed.insert(weight.name().to_owned(), name.clone());
            if known.len() > count {
                weight.name = Some(name);
                main.initializer.push(weight);
            }
        }
        rename(graph, &renamed);
    }
}

/// Renames values in a graph, and in those within it that do not define them themselves.
fn rename(graph: &mut GraphProto, names: &FxHashMap<String, String>) {
    let change = |name: &mut String| {
        if let Some(new) = names.get(name) {
            name.clone_from(new);
        }
    };
    for node in &mut graph.node {
        node.input.iter_mut().chain(&mut node.output).for_each(change);
        for attribute in &mut node.attribute {
            for inner in attribute.g.iter_mut().chain(&mut attribute.graphs) {
                rename(inner, names);
            }
        }
    }
    let ports = graph.output.iter_mut().chain(&mut graph.value_info);
    for name in ports.filter_map(|port| port.name.as_mut()) {
        change(name);
    }
    for name in graph.initializer.iter_mut().filter_map(|weight| weight.name.as_mut()) {
        change(name);
    }
}

/// A variant as a branch: it takes its inputs from the main graph, and its outputs have other names than that one's.
fn branch(mut graph: GraphProto, main: &GraphProto) -> GraphProto {
    graph.input.clear();
    let names: FxHashMap<String, String> =
        main.output.iter().map(|put| (put.name().to_owned(), format!("{}@branch", put.name()))).collect();
    let is_input = |name: &str| main.input.iter().any(|port| port.name() == name);
    rename(&mut graph, &names.into_iter().filter(|(name, _)| !is_input(name)).collect());
    // Outputs of a branch must be computed in it: an output may be an input or a shared weight.
    for (number, put) in graph.output.iter_mut().enumerate() {
        let name = put.name().to_owned();
        let own = format!("{OWN}.output.{number}@branch");
        graph.node.push(node(op::Identity, &[&name], &[&own], Vec::new()));
        put.name = Some(own);
    }
    graph
}

/// The node that runs the variant with a number if the sizes are its own.
fn choice(main: &GraphProto, number: usize, then: GraphProto, rest: GraphProto) -> NodeProto {
    let outputs: Vec<String> =
        (0..main.output.len()).map(|at| format!("{OWN}.output.{at}.{number}")).collect();
    let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    let inner = |name: &str, graph| AttributeProto {
        name: Some(name.to_owned()),
        r#type: Some(AttributeType::Graph as i32),
        g: Some(graph),
        ..AttributeProto::default()
    };
    let branches = vec![inner("then_branch", then), inner("else_branch", rest)];
    node(op::If, &[&format!("{OWN}.{number}.fits")], &outputs, branches)
}

/// A branch that fails; the name of its node, which runtimes report, says why.
fn nothing(main: &GraphProto, varying: &[Varying], sizes: &[Vec<i64>]) -> Result<GraphProto, String> {
    let places: Vec<String> = varying
        .iter()
        .map(|(input, axis)| format!("{}:{axis}", main.input.get(*input).map_or("", ValueInfoProto::name)))
        .collect();
    let known: Vec<String> = sizes
        .iter()
        .map(|sizes| sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
        .collect();
    let why = format!("no variant for these sizes: {} must be {}", places.join(","), known.join(" or "));
    let mut graph = GraphProto { name: Some(format!("{OWN}.none")), ..GraphProto::default() };
    let (nowhere, failed) = (format!("{OWN}.nowhere"), format!("{OWN}.failed"));
    graph.initializer.push(integers(&nowhere, Vec::new(), vec![NOWHERE]));
    let mut fails = node(op::Gather, &[&format!("{OWN}.size.0"), &nowhere], &[&failed], Vec::new());
    fails.name = Some(why);
    graph.node.push(fails);
    for (at, put) in main.output.iter().enumerate() {
        let ty = tensor(put).ok_or("an output is not a tensor")?;
        let sizes = ty.shape.iter().flat_map(|shape| &shape.dim).map(|dim| match dim.value {
            Some(dimension::Value::DimValue(size)) => size,
            _ => 1,
        });
        let sizes: Vec<i64> = sizes.collect();
        let [shape, cast, name] = ["shape", "cast", "none"].map(|part| format!("{OWN}.{part}.{at}"));
        graph.initializer.push(integers(&shape, vec![sizes.len() as i64], sizes));
        let to = integer("to", i64::from(ty.elem_type()));
        graph.node.push(node(op::Cast, &[&failed], &[&cast], vec![to]));
        graph.node.push(node(op::Expand, &[&cast, &shape], &[&name], Vec::new()));
        graph.output.push(ValueInfoProto { name: Some(name), ..put.clone() });
    }
    Ok(graph)
}

fn node(op: &str, inputs: &[&str], outputs: &[&str], attribute: Vec<AttributeProto>) -> NodeProto {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    NodeProto {
        op_type: Some(op.to_owned()),
        input: owned(inputs),
        output: owned(outputs),
        name: outputs.first().map(|&name| name.to_owned()),
        attribute,
        ..NodeProto::default()
    }
}

fn integer(name: &str, value: i64) -> AttributeProto {
    AttributeProto {
        name: Some(name.to_owned()),
        r#type: Some(AttributeType::Int as i32),
        i: Some(value),
        ..AttributeProto::default()
    }
}

fn integers(name: &str, dims: Vec<i64>, values: Vec<i64>) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        data_type: Some(tensor_proto::DataType::Int64 as i32),
        dims,
        int64_data: values,
        ..TensorProto::default()
    }
}
