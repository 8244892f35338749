//! When two models are the same: their messages are, after everything that has no meaning was taken away. What that
//! is stands at the head of `core/ir/src/ir/import`. Nothing here uses the importer.

use std::collections::HashSet;
use std::path::Path;

use bytes::Bytes;
use onnxport_proto::attribute_proto::AttributeType;
use onnxport_proto::tensor_proto::DataLocation;
use onnxport_proto::tensor_shape_proto::dimension;
use onnxport_proto::type_proto::Value;
use onnxport_proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, SparseTensorProto,
    StringStringEntryProto, TensorProto, TypeProto, ValueInfoProto,
};
use prost::Message;

/// Returns the model at `path` without meaningless details.
pub(crate) fn model(path: &Path) -> ModelProto {
    let bytes = std::fs::read(path).expect("a readable model");
    let mut model = ModelProto::decode(Bytes::from(bytes)).expect("a model");
    let folder = path.parent().expect("a folder");
    texts(&mut [
        &mut model.producer_name,
        &mut model.producer_version,
        &mut model.domain,
        &mut model.doc_string,
    ]);
    model.ir_version.get_or_insert(0);
    model.model_version = model.model_version.filter(|version| *version != 0);
    opsets(&mut model.opset_import);
    if model.opset_import.is_empty() {
        model.opset_import.push(OperatorSetIdProto { domain: Some(String::new()), version: Some(1) });
    }
    entries(&mut model.metadata_props);
    model.metadata_props.retain(|entry| entry.key() != "onnxport.sources");
    if let Some(main) = &mut model.graph {
        graph(main, folder);
    }
    for body in &mut model.functions {
        function(body, folder);
    }
    let key = |f: &FunctionProto| (f.domain().to_owned(), f.name().to_owned(), f.overload().to_owned());
    model.functions.sort_by_key(key);
    model
}

/// Returns the first lines in which two models differ, with their context.
pub(crate) fn difference(a: &ModelProto, b: &ModelProto) -> Option<(String, String)> {
    if a.encode_to_vec() == b.encode_to_vec() {
        return None;
    }
    let (a, b) = (format!("{a:#?}"), format!("{b:#?}"));
    let same = a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let lines: Vec<&str> = text.lines().skip(same.saturating_sub(12)).take(15).map(str::trim).collect();
        lines.join(" ")
    };
    Some((around(&a), around(&b)))
}

fn texts(fields: &mut [&mut Option<String>]) {
    for field in fields {
        if field.as_deref() == Some("") {
            **field = None;
        }
    }
}

fn entries(entries: &mut [StringStringEntryProto]) {
    for entry in &mut *entries {
        entry.key.get_or_insert_default();
        entry.value.get_or_insert_default();
    }
    entries.sort_by(|a, b| a.key.cmp(&b.key));
}

fn opsets(opsets: &mut Vec<OperatorSetIdProto>) {
    for opset in &mut *opsets {
        let domain = opset.domain.take().filter(|domain| domain != "ai.onnx").unwrap_or_default();
        opset.domain = Some(domain);
        opset.version.get_or_insert(0);
    }
    opsets.sort_by(|a, b| (&a.domain, a.version).cmp(&(&b.domain, b.version)));
    opsets.dedup();
}

fn graph(graph: &mut GraphProto, folder: &Path) {
    texts(&mut [&mut graph.name, &mut graph.doc_string]);
    entries(&mut graph.metadata_props);
    let mut known: HashSet<String> = HashSet::new();
    for info in graph.input.iter_mut().chain(&mut graph.output) {
        value(info);
        known.insert(info.name().to_owned());
    }
    for tensor in &mut graph.initializer {
        initializer(tensor, folder);
    }
    for tensor in &mut graph.sparse_initializer {
        let name = tensor.values.as_ref().and_then(|values| values.name.clone());
        let about = tensor.values.clone().unwrap_or_default();
        sparse(tensor, folder);
        if let Some(values) = &mut tensor.values {
            (values.name, values.doc_string, values.metadata_props) =
                (name, about.doc_string, about.metadata_props);
            texts(&mut [&mut values.doc_string]);
            entries(&mut values.metadata_props);
        }
    }
    let made: HashSet<String> = graph.node.iter().flat_map(|n| n.output.iter().cloned()).collect();
    let constants: HashSet<String> = graph.initializer.iter().map(|t| t.name().to_owned()).collect();
    graph.value_info.iter_mut().for_each(value);
    graph.value_info.retain(|info| {
        let about = info.doc_string.is_some() || !info.metadata_props.is_empty();
        !known.contains(info.name())
            && (made.contains(info.name()) && (about || info.r#type.is_some())
                || constants.contains(info.name()) && about)
    });
    graph.value_info.sort_by(|a, b| a.name.cmp(&b.name));
    graph.initializer.sort_by(|a, b| a.name.cmp(&b.name));
    let name = |t: &SparseTensorProto| t.values.as_ref().map(|v| v.name().to_owned());
    graph.sparse_initializer.sort_by_key(name);
    for annotation in &mut graph.quantization_annotation {
        entries(&mut annotation.quant_parameter_tensor_names);
    }
    graph.quantization_annotation.sort_by(|a, b| a.tensor_name.cmp(&b.tensor_name));
    graph.node.iter_mut().for_each(|n| node(n, folder));
}

fn function(function: &mut FunctionProto, folder: &Path) {
    texts(&mut [&mut function.doc_string, &mut function.overload]);
    function.domain = Some(function.domain.take().filter(|d| d != "ai.onnx").unwrap_or_default());
    opsets(&mut function.opset_import);
    entries(&mut function.metadata_props);
    function.attribute_proto.iter_mut().for_each(|a| attribute(a, folder));
    function.attribute_proto.sort_by(|a, b| a.name.cmp(&b.name));
    let mut made: HashSet<&String> = function.node.iter().flat_map(|n| &n.output).collect();
    made.extend(&function.input);
    function.value_info.iter_mut().for_each(value);
    function.value_info.retain(|info| {
        made.iter().any(|name| *name == info.name()) && (info.r#type.is_some() || info.doc_string.is_some())
    });
    function.value_info.sort_by(|a, b| a.name.cmp(&b.name));
    function.node.iter_mut().for_each(|n| node(n, folder));
}

fn node(node: &mut NodeProto, folder: &Path) {
    node.domain = node.domain.take().filter(|domain| domain != "ai.onnx");
    texts(&mut [&mut node.name, &mut node.domain, &mut node.overload, &mut node.doc_string]);
    entries(&mut node.metadata_props);
    node.attribute.iter_mut().for_each(|a| attribute(a, folder));
    node.attribute.sort_by(|a, b| a.name.cmp(&b.name));
}

fn attribute(attribute: &mut AttributeProto, folder: &Path) {
    attribute.doc_string = None;
    texts(&mut [&mut attribute.ref_attr_name]);
    let held = [
        (attribute.f.is_some(), AttributeType::Float),
        (attribute.i.is_some(), AttributeType::Int),
        (attribute.s.is_some(), AttributeType::String),
        (attribute.t.is_some(), AttributeType::Tensor),
        (attribute.g.is_some(), AttributeType::Graph),
        (!attribute.floats.is_empty(), AttributeType::Floats),
        (!attribute.ints.is_empty(), AttributeType::Ints),
        (!attribute.strings.is_empty(), AttributeType::Strings),
    ];
    if attribute.r#type() == AttributeType::Undefined
        && let Some((_, kind)) = held.iter().find(|(there, _)| *there)
    {
        attribute.r#type = Some(*kind as i32);
    }
    if attribute.ref_attr_name.is_none() {
        match attribute.r#type() {
            AttributeType::Float => _ = attribute.f.get_or_insert(0.0),
            AttributeType::Int => _ = attribute.i.get_or_insert(0),
            AttributeType::String => _ = attribute.s.get_or_insert_default(),
            _ => {}
        }
    }
    for tensor in attribute.t.iter_mut().chain(&mut attribute.tensors) {
        nameless(tensor, folder);
    }
    for tensor in attribute.sparse_tensor.iter_mut().chain(&mut attribute.sparse_tensors) {
        sparse(tensor, folder);
    }
    for body in attribute.g.iter_mut().chain(&mut attribute.graphs) {
        graph(body, folder);
    }
    for ty in attribute.tp.iter_mut().chain(&mut attribute.type_protos) {
        inner_type(ty);
        ty.denotation = None;
    }
}

fn value(info: &mut ValueInfoProto) {
    texts(&mut [&mut info.doc_string]);
    entries(&mut info.metadata_props);
    info.r#type = info.r#type.take().filter(is_known);
    if let Some(ty) = &mut info.r#type {
        texts(&mut [&mut ty.denotation]);
        inner_type(ty);
    }
}

fn is_known(ty: &TypeProto) -> bool {
    match &ty.value {
        None => false,
        Some(Value::TensorType(tensor)) => tensor.elem_type() != 0,
        Some(_) => true,
    }
}

fn inner_type(ty: &mut TypeProto) {
    let shape = match &mut ty.value {
        Some(Value::TensorType(tensor)) => tensor.shape.as_mut(),
        Some(Value::SparseTensorType(tensor)) => tensor.shape.as_mut(),
        Some(Value::SequenceType(sequence)) => return element(&mut sequence.elem_type),
        Some(Value::OptionalType(optional)) => return element(&mut optional.elem_type),
        Some(Value::MapType(map)) => return element(&mut map.value_type),
        Some(Value::OpaqueType(_)) | None => None,
    };
    for dim in shape.into_iter().flat_map(|shape| &mut shape.dim) {
        texts(&mut [&mut dim.denotation]);
        dim.value = dim.value.take().filter(|value| match value {
            dimension::Value::DimValue(n) => *n >= 0,
            dimension::Value::DimParam(name) => !name.is_empty(),
        });
    }
}

fn element(ty: &mut Option<Box<TypeProto>>) {
    if let Some(ty) = ty {
        inner_type(ty);
        ty.denotation = None;
    }
    *ty = ty.take().filter(|ty| is_known(ty));
}

fn sparse(tensor: &mut SparseTensorProto, folder: &Path) {
    nameless(tensor.values.get_or_insert_default(), folder);
    nameless(tensor.indices.get_or_insert_default(), folder);
}

fn nameless(proto: &mut TensorProto, folder: &Path) {
    tensor(proto, folder);
    (proto.name, proto.doc_string) = (None, None);
    proto.metadata_props.clear();
}

fn initializer(proto: &mut TensorProto, folder: &Path) {
    tensor(proto, folder);
    texts(&mut [&mut proto.doc_string]);
    entries(&mut proto.metadata_props);
}

/// Elements as raw bytes, texts excepted.
fn tensor(tensor: &mut TensorProto, folder: &Path) {
    if tensor.data_location() == DataLocation::External {
        let entry =
            |key: &str| tensor.external_data.iter().find(|e| e.key() == key).map(|e| e.value().to_owned());
        let file = std::fs::read(folder.join(entry("location").expect("a location"))).expect("a data file");
        let start: usize = entry("offset").map_or(0, |text| text.parse().expect("an offset"));
        let length = entry("length").map(|text| text.parse::<usize>().expect("a length"));
        let end = length.map_or(file.len(), |length| start + length);
        tensor.raw_data = Some(Bytes::copy_from_slice(&file[start..end]));
        tensor.external_data.clear();
    }
    tensor.data_location = None;
    if tensor.data_type() == 8 {
        tensor.raw_data = None;
        return;
    }
    let wide = |bits: i32, items: &[i32]| -> Vec<u8> {
        items.iter().flat_map(|x| x.to_le_bytes()[..(bits / 8) as usize].to_vec()).collect()
    };
    let typed: Vec<u8> = match tensor.data_type() {
        1 | 14 => tensor.float_data.iter().flat_map(|x| x.to_le_bytes()).collect(),
        11 | 15 => tensor.double_data.iter().flat_map(|x| x.to_le_bytes()).collect(),
        7 => tensor.int64_data.iter().flat_map(|x| x.to_le_bytes()).collect(),
        13 => tensor.uint64_data.iter().flat_map(|x| x.to_le_bytes()).collect(),
        12 => tensor.uint64_data.iter().flat_map(|x| x.to_le_bytes()[..4].to_vec()).collect(),
        6 => wide(32, &tensor.int32_data),
        4 | 5 | 10 | 16 => wide(16, &tensor.int32_data),
        _ => wide(8, &tensor.int32_data),
    };
    if !typed.is_empty() {
        tensor.raw_data = Some(typed.into());
    }
    tensor.raw_data.get_or_insert_default();
    tensor.float_data.clear();
    tensor.double_data.clear();
    tensor.int32_data.clear();
    tensor.int64_data.clear();
    tensor.uint64_data.clear();
}
