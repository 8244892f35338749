//! The inputs and outputs of tests: messages in files.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use onnxport_ir::ir::{Model, Type};
use onnxport_ir::ops::{Tensor, Value};
use onnxport_ir::tensor::DType;
use onnxport_proto::TensorProto;
use prost::Message;

/// `SequenceProto` of `onnx-data.proto`.
#[derive(Clone, PartialEq, Message)]
struct Sequence {
    #[prost(int32, optional, tag = "2")]
    elem_type: Option<i32>,
    #[prost(message, repeated, tag = "3")]
    tensors: Vec<TensorProto>,
    #[prost(message, repeated, tag = "5")]
    sequences: Vec<Sequence>,
    #[prost(message, repeated, tag = "7")]
    optionals: Vec<Optional>,
}

/// `OptionalProto` of `onnx-data.proto`.
#[derive(Clone, PartialEq, Message)]
struct Optional {
    #[prost(int32, optional, tag = "2")]
    elem_type: Option<i32>,
    #[prost(message, optional, boxed, tag = "3")]
    tensor: Option<Box<TensorProto>>,
    #[prost(message, optional, boxed, tag = "5")]
    sequence: Option<Box<Sequence>>,
    #[prost(message, optional, boxed, tag = "7")]
    optional: Option<Box<Optional>>,
}

/// The kinds of the inputs and outputs of a model.
pub(crate) struct Kinds {
    inputs: Vec<Type>,
    outputs: Vec<Type>,
}

impl Kinds {
    pub(crate) fn from_model(model: &Model) -> Self {
        let graph = &model.graph;
        let main = &graph.blocks[graph.main()];
        let types = |values: &[_]| values.iter().map(|v| graph.values[*v].ty.clone()).collect();
        Self { inputs: types(&main.inputs), outputs: types(main.outputs()) }
    }

    /// Reads the inputs of one data set; an input with a default has no file.
    pub(crate) fn inputs(&self, folder: &Path) -> Result<Vec<Option<Value>>, String> {
        let read = |(index, ty): (usize, &Type)| {
            let bytes = fs::read(folder.join(format!("input_{index}.pb"))).ok();
            bytes.map(|bytes| decode(bytes.into(), ty)).transpose()
        };
        self.inputs.iter().enumerate().map(read).collect()
    }

    /// The outputs of one data set.
    pub(crate) fn outputs(&self, folder: &Path) -> Result<Vec<Value>, String> {
        let read = |(index, ty): (usize, &Type)| {
            let path = folder.join(format!("output_{index}.pb"));
            let bytes = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            decode(bytes.into(), ty)
        };
        self.outputs.iter().enumerate().map(read).collect()
    }
}

fn decode(bytes: Bytes, ty: &Type) -> Result<Value, String> {
    let damaged = |e: prost::DecodeError| e.to_string();
    match ty {
        Type::Sequence(_) => sequence(Sequence::decode(bytes).map_err(damaged)?),
        Type::Optional(_) => optional(Optional::decode(bytes).map_err(damaged)?),
        _ => tensor(&TensorProto::decode(bytes).map_err(damaged)?).map(Value::Tensor),
    }
}

fn sequence(proto: Sequence) -> Result<Value, String> {
    let mut items = Vec::new();
    for item in &proto.tensors {
        items.push(Value::Tensor(tensor(item)?));
    }
    for item in proto.sequences {
        items.push(sequence(item)?);
    }
    for item in proto.optionals {
        items.push(optional(item)?);
    }
    let dtype = items.first().and_then(Value::tensor).map_or(DType::F32, Tensor::dtype);
    Ok(Value::Sequence(dtype, items))
}

fn optional(proto: Optional) -> Result<Value, String> {
    let inner = match (proto.tensor, proto.sequence, proto.optional) {
        (Some(inner), ..) => Some(Value::Tensor(tensor(&inner)?)),
        (_, Some(inner), _) => Some(sequence(*inner)?),
        (_, _, Some(inner)) => Some(optional(*inner)?),
        _ => None,
    };
    Ok(Value::Optional(inner.map(Box::new)))
}

fn tensor(proto: &TensorProto) -> Result<Tensor, String> {
    let dtype = DType::from_onnx(proto.data_type()).ok_or("it has no element type")?;
    let shape: Vec<usize> = proto.dims.iter().map(|d| *d as usize).collect();
    if dtype == DType::String {
        let texts = proto.string_data.iter().map(|t| String::from_utf8_lossy(t).into_owned()).collect();
        return Tensor::of_texts(shape, texts).map_err(String::from);
    }
    let bytes: Bytes = if let Some(raw) = &proto.raw_data {
        raw.clone()
    } else if dtype == DType::F32 || dtype == DType::C64 {
        proto.float_data.iter().flat_map(|x| x.to_le_bytes()).collect()
    } else if dtype == DType::F64 || dtype == DType::C128 {
        proto.double_data.iter().flat_map(|x| x.to_le_bytes()).collect()
    } else if dtype == DType::I64 {
        proto.int64_data.iter().flat_map(|x| x.to_le_bytes()).collect()
    } else if matches!(dtype, DType::U64 | DType::U32) {
        let width = dtype.bits() as usize / 8;
        proto.uint64_data.iter().flat_map(|x| x.to_le_bytes().into_iter().take(width)).collect()
    } else {
        let width = (dtype.bits() as usize).div_ceil(8);
        proto.int32_data.iter().flat_map(|x| x.to_le_bytes().into_iter().take(width)).collect()
    };
    Tensor::packed(dtype, shape, bytes).map_err(String::from)
}
