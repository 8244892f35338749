//! ONNX models: a model that was read is written as the same model, as a message and as a text.

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};
use onnxport_core::ir::Model;
use onnxport_core::ir::import::from_memory;
use onnxport_core::valid::{StatedTypes, validate};
use onnxport_core::write::{WriteOptions, message};
use onnxport_proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto,
};
use prost::Message;

pub(crate) fn run(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else { return };
    if mode % 2 == 0 {
        check(rest);
    } else if let Ok(model) = model(&mut Unstructured::new(rest)) {
        check(&model.encode_to_vec());
    }
}

fn check(bytes: &[u8]) {
    let Some(first) = read(bytes) else { return };
    let text = first.to_text();
    let again = Model::parse(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    assert_eq!(again.to_text(), text, "the text reads back as another model");
    // A model that is not valid is not written.
    if !validate(&first, &StatedTypes::default()).is_empty() {
        return;
    }
    let mut written = Vec::new();
    match message(&first, &WriteOptions::default(), &mut written) {
        Ok(()) => {}
        Err(report) => {
            assert!(!report.diagnostics.is_empty());
            return;
        }
    }
    let second = read(&written).unwrap_or_else(|| panic!("the written model is not read:\n{text}"));
    assert!(validate(&second, &StatedTypes::default()).is_empty(), "the written model is not valid:\n{text}");
    let mut again = Vec::new();
    message(&second, &WriteOptions::default(), &mut again).expect("a model that was written before");
    assert!(again == written, "the model is written in two ways:\n{text}\n{}", second.to_text());
}

fn read(bytes: &[u8]) -> Option<Model> {
    from_memory(bytes.to_vec().into(), BTreeMap::new()).ok()
}

fn model(u: &mut Unstructured<'_>) -> Result<ModelProto> {
    let opset = OperatorSetIdProto { domain: None, version: Some(u.int_in_range(0..=28)?) };
    Ok(ModelProto {
        ir_version: Some(u.int_in_range(3..=13)?),
        opset_import: if u.ratio(15, 16)? { vec![opset] } else { Vec::new() },
        graph: Some(graph(u, 0)?),
        ..ModelProto::default()
    })
}

fn name(u: &mut Unstructured<'_>) -> Result<String> {
    Ok((*u.choose(&["a", "b", "c", "d", "e", "", "\"", "é x", "%a", "output", "a.b"])?).to_owned())
}

fn names(u: &mut Unstructured<'_>) -> Result<Vec<String>> {
    (0..u.int_in_range(0..=3)?).map(|_| name(u)).collect()
}

fn graph(u: &mut Unstructured<'_>, depth: usize) -> Result<GraphProto> {
    let mut graph = GraphProto { name: Some(name(u)?), ..GraphProto::default() };
    for _ in 0..u.int_in_range(0..=2)? {
        graph.input.push(port(u)?);
    }
    for _ in 0..u.int_in_range(0..=2)? {
        graph.initializer.push(tensor(u)?);
    }
    for _ in 0..u.int_in_range(0..=4)? {
        graph.node.push(node(u, depth)?);
    }
    for _ in 0..u.int_in_range(0..=2)? {
        graph.output.push(port(u)?);
    }
    for _ in 0..u.int_in_range(0..=1)? {
        graph.value_info.push(port(u)?);
    }
    Ok(graph)
}

fn port(u: &mut Unstructured<'_>) -> Result<ValueInfoProto> {
    use onnxport_proto::tensor_shape_proto::{Dimension, dimension::Value};
    use onnxport_proto::{TensorShapeProto, TypeProto, type_proto};
    let mut shape = TensorShapeProto::default();
    for _ in 0..u.int_in_range(0..=3)? {
        let value = match u.int_in_range(0..=3)? {
            0 => None,
            1 => Some(Value::DimValue(u.arbitrary()?)),
            2 => Some(Value::DimValue(u.int_in_range(0..=4)?)),
            _ => {
                Some(Value::DimParam((*u.choose(&["n", "2*n", "n + 1", "", "n//2", "x y", "n*n*n"])?).into()))
            }
        };
        shape.dim.push(Dimension { value, ..Dimension::default() });
    }
    let tensor =
        type_proto::Tensor { elem_type: Some(u.int_in_range(0..=26)?), shape: Some(shape).filter(|_| true) };
    let value = Some(type_proto::Value::TensorType(tensor)).filter(|_| u.ratio(7, 8).unwrap_or(true));
    let ty = Some(TypeProto { value, ..TypeProto::default() });
    Ok(ValueInfoProto { name: Some(name(u)?), r#type: ty, ..ValueInfoProto::default() })
}

fn tensor(u: &mut Unstructured<'_>) -> Result<TensorProto> {
    let rank = u.int_in_range(0..=2)?;
    let dims: Vec<i64> = (0..rank).map(|_| u.int_in_range(0..=3)).collect::<Result<_>>()?;
    let count = dims.iter().product::<i64>() as usize;
    let mut tensor = TensorProto { dims, name: Some(name(u)?), ..TensorProto::default() };
    match u.int_in_range(0..=5)? {
        0 => {
            tensor.data_type = Some(1);
            tensor.float_data = (0..count).map(|_| u.arbitrary()).collect::<Result<_>>()?;
        }
        1 => {
            tensor.data_type = Some(7);
            tensor.int64_data = (0..count).map(|_| u.arbitrary()).collect::<Result<_>>()?;
        }
        2 => {
            tensor.data_type = Some(*u.choose(&[2, 3, 4, 5, 6, 9, 10, 16, 17, 21, 22, 23])?);
            tensor.int32_data = (0..count).map(|_| u.arbitrary()).collect::<Result<_>>()?;
        }
        3 => {
            tensor.data_type = Some(8);
            tensor.string_data =
                (0..count).map(|_| Ok(name(u)?.into_bytes().into())).collect::<Result<_>>()?;
        }
        _ => {
            tensor.data_type = Some(u.int_in_range(0..=26)?);
            let len = u.int_in_range(0..=32)?;
            tensor.raw_data = Some(u.bytes(len)?.to_vec().into());
        }
    }
    Ok(tensor)
}

fn node(u: &mut Unstructured<'_>, depth: usize) -> Result<NodeProto> {
    const OPERATORS: &[&str] = &[
        "Add",
        "Neg",
        "Constant",
        "If",
        "Loop",
        "Scan",
        "Reshape",
        "Split",
        "Identity",
        "Concat",
        "Cast",
        "MatMul",
        "Slice",
        "Gather",
        "Transpose",
        "Own",
        "",
    ];
    let mut node = NodeProto {
        op_type: Some((*u.choose(OPERATORS)?).to_owned()),
        domain: Some((*u.choose(&["", "", "", "ai.onnx", "com.microsoft", "t"])?).to_owned()),
        name: Some(name(u)?),
        input: names(u)?,
        output: names(u)?,
        ..NodeProto::default()
    };
    for _ in 0..u.int_in_range(0..=2)? {
        node.attribute.push(attribute(u, depth)?);
    }
    Ok(node)
}

fn attribute(u: &mut Unstructured<'_>, depth: usize) -> Result<AttributeProto> {
    const NAMES: &[&str] =
        &["axis", "value", "then_branch", "else_branch", "body", "to", "perm", "a", "", "é", "num_outputs"];
    let mut attribute =
        AttributeProto { name: Some((*u.choose(NAMES)?).to_owned()), ..AttributeProto::default() };
    let kind = u.int_in_range(0..=7)?;
    attribute.r#type = Some(if u.ratio(15, 16)? { kind } else { u.int_in_range(0..=14)? });
    match kind {
        1 => attribute.f = Some(u.arbitrary()?),
        2 => attribute.i = Some(u.int_in_range(-3..=12)?),
        3 => attribute.s = Some(name(u)?.into_bytes().into()),
        4 => attribute.t = Some(tensor(u)?),
        5 if depth < 3 => attribute.g = Some(graph(u, depth + 1)?),
        6 => attribute.floats = (0..u.int_in_range(0..=3)?).map(|_| u.arbitrary()).collect::<Result<_>>()?,
        7 => {
            attribute.ints =
                (0..u.int_in_range(0..=3)?).map(|_| u.int_in_range(-2..=4)).collect::<Result<_>>()?;
        }
        _ => {}
    }
    Ok(attribute)
}
