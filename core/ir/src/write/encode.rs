//! The protobuf message of a model.

use std::fs::File;
use std::io::{self, Write};

use bytes::Bytes;
use onnxport_proto::attribute_proto::AttributeType;
use onnxport_proto::tensor_proto::DataLocation;
use onnxport_proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
};
use prost::Message as _;

use super::names::{GraphNames, Names, Output};
use super::plan::{Place, Plan, Weight};
use super::stream::{self, Meter};
use super::value_info::Types;
use super::{WriteOptions, metadata};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::ir::opset::{self, AttrKind};
use crate::ir::{Attr, BlockId, Def, Function, Graph, Model, Node, NodeId};
use crate::onnx::UNBOUND_LOCATION;
use crate::tensor::{DType, LazyTensor, Source};

/// The longest protobuf message.
const MAX_MESSAGE: u64 = (1 << 31) - 1;

// Keys of length-delimited fields, `number << 3 | 2`.
const MODEL_GRAPH: u8 = 7 << 3 | 2;
const GRAPH_INITIALIZER: u8 = 5 << 3 | 2;
const TENSOR_RAW_DATA: u8 = 9 << 3 | 2;

/// A model, ready to be written.
///
/// The graph's initializers are kept apart, so that their bytes stream into the file.
pub(super) struct Message<'a> {
    model: Vec<u8>,
    graph: Vec<u8>,
    initializers: Vec<Part<'a>>,
}

/// An initializer: its message and, where they are inline, its bytes.
struct Part<'a> {
    head: Vec<u8>,
    raw: Option<(Weight<'a>, u64)>,
}

impl Part<'_> {
    /// The length of the initializer's message.
    fn len(&self) -> u64 {
        let raw = self.raw.map_or(0, |(_, len)| 1 + varint_len(len) + len);
        self.head.len() as u64 + raw
    }
}

impl<'a> Message<'a> {
    /// A model whose graph is `graph` with `weights` as its initializers, placed as `plan` says.
    /// `model` has no graph, `graph` no initializers.
    pub(super) fn of(
        model: &ModelProto,
        graph: &GraphProto,
        weights: &[Weight<'a>],
        plan: &Plan,
        data_names: &[String],
    ) -> Self {
        let initializers = weights.iter().zip(&plan.places);
        let initializers = initializers.filter_map(|(weight, place)| {
            let mut head = tensor_head(weight.name, weight.data);
            let (file, offset, len) = match place {
                Place::Left => return None,
                Place::Inline => {
                    let raw = Some((*weight, weight.data.byte_len().unwrap_or(u64::MAX)));
                    return Some(Part { head: head.encode_to_vec(), raw });
                }
                Place::Data(extent) => {
                    (data_names.get(extent.file).map_or("", String::as_str), extent.offset, extent.len)
                }
                Place::Pointed(extent) => {
                    let file = plan.pointed.get(extent.file);
                    (file.map_or("", |f| f.location.as_str()), extent.offset, extent.len)
                }
                Place::Unbound(len) => (UNBOUND_LOCATION, 0, *len),
            };
            head.data_location = Some(DataLocation::External as i32);
            head.external_data = vec![
                metadata::entry("location", file),
                metadata::entry("offset", offset.to_string()),
                metadata::entry("length", len.to_string()),
            ];
            Some(Part { head: head.encode_to_vec(), raw: None })
        });
        Message {
            initializers: initializers.collect(),
            model: model.encode_to_vec(),
            graph: graph.encode_to_vec(),
        }
    }

    fn graph_len(&self) -> u64 {
        let parts = self.initializers.iter().map(Part::len).map(|len| 1 + varint_len(len) + len);
        parts.fold(self.graph.len() as u64, u64::saturating_add)
    }

    /// The length in bytes.
    ///
    /// # Errors
    /// `OP602` when it is more than a protobuf message may have.
    pub(super) fn len(&self) -> Result<u64, Report> {
        let graph = self.graph_len();
        let len = (self.model.len() as u64 + 1 + varint_len(graph)).saturating_add(graph);
        if len <= MAX_MESSAGE {
            return Ok(len);
        }
        let message = format!("the model takes {len} bytes, more than the 2 GiB of a protobuf message");
        Err(Diagnostic::error(Code::WRITE_SIZE, message).help("write the weights to a data file").into())
    }

    /// Writes the message.
    pub(super) fn write(&self, file: &mut File, meter: &Meter) -> io::Result<()> {
        let mut pending = vec![MODEL_GRAPH];
        put_varint(&mut pending, self.graph_len());
        for bytes in [&self.model, &pending, &self.graph] {
            file.write_all(bytes)?;
            meter.add(bytes.len() as u64);
        }
        pending.clear();
        for part in &self.initializers {
            pending.push(GRAPH_INITIALIZER);
            put_varint(&mut pending, part.len());
            pending.extend_from_slice(&part.head);
            let Some((weight, len)) = part.raw else { continue };
            pending.push(TENSOR_RAW_DATA);
            put_varint(&mut pending, len);
            file.write_all(&pending)?;
            meter.add(pending.len() as u64);
            pending.clear();
            stream::weight(&weight, file, meter)?;
        }
        file.write_all(&pending)?;
        meter.add(pending.len() as u64);
        Ok(())
    }
}

pub(super) const fn varint_len(n: u64) -> u64 {
    (64 - (n | 1).leading_zeros() as u64).div_ceil(7)
}

pub(super) fn put_varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Makes protobuf messages of a model.
pub(super) struct Encoder<'a> {
    model: &'a Model,
    options: &'a WriteOptions,
    types: Types<'a>,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(model: &'a Model, options: &'a WriteOptions) -> Self {
        Self { model, options, types: Types::new(&model.symbols) }
    }

    /// The message of the model, with its weights placed as `plan` says.
    pub(super) fn model(
        mut self,
        names: &Names,
        weights: &[Weight<'a>],
        plan: &Plan,
        data_names: &[String],
    ) -> Message<'a> {
        let model = self.model;
        let functions = model.functions.iter().zip(&names.functions);
        let functions: Vec<_> = functions.map(|(f, names)| self.function(f, names)).collect();
        let mut graph = self.block(&model.graph, &names.graph, model.graph.main(), "main");
        let weight_inputs = weights.iter().filter(|weight| weight.is_input);
        let weight_inputs = weight_inputs.map(|w| self.types.value(w.name, &model.graph.values[w.value].ty));
        graph.input.extend(weight_inputs);
        let mut metadata_props = metadata::model(model, names);
        metadata::extend(&mut metadata_props, metadata::of_weights(weights, plan));
        let proto = ModelProto {
            ir_version: Some(ir_version(model)),
            opset_import: self.opsets(),
            producer_name: Some("onnxport".to_owned()),
            producer_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            metadata_props,
            functions,
            ..ModelProto::default()
        };
        Message::of(&proto, &graph, weights, plan, data_names)
    }

    fn opsets(&self) -> Vec<OperatorSetIdProto> {
        let import = |o: &crate::ir::OpsetImport| OperatorSetIdProto {
            domain: Some(o.domain.clone()),
            version: Some(o.version),
        };
        self.model.opsets.iter().map(import).collect()
    }

    fn function(&mut self, function: &Function, names: &GraphNames) -> FunctionProto {
        let main = function.graph.main();
        let body = self.block(&function.graph, names, main, &function.name);
        // A function has no initializers, so that its constants are nodes.
        let constants = function.graph.initializers.iter().map(|initializer| NodeProto {
            output: vec![names.value(initializer.value).to_owned()],
            op_type: Some("Constant".to_owned()),
            attribute: vec![self.attribute(
                &function.graph,
                names,
                None,
                "value",
                &Attr::Tensor(initializer.data.clone()),
            )],
            ..NodeProto::default()
        });
        let mut node: Vec<NodeProto> = constants.collect();
        node.extend(body.node);
        FunctionProto {
            name: Some(function.name.clone()),
            domain: Some(function.domain.clone()),
            input: body.input.into_iter().filter_map(|i| i.name).collect(),
            output: body.output.into_iter().filter_map(|o| o.name).collect(),
            attribute: function.attributes.clone(),
            node,
            opset_import: self.opsets(),
            ..FunctionProto::default()
        }
    }

    fn block(&mut self, graph: &Graph, names: &GraphNames, block: BlockId, name: &str) -> GraphProto {
        let mut proto = GraphProto { name: Some(name.to_owned()), ..GraphProto::default() };
        let outputs = names.outputs(block);
        for value in &graph.blocks[block].inputs {
            proto.input.push(self.types.value(names.value(*value), &graph.values[*value].ty));
        }
        for node in graph.order(block) {
            proto.node.push(self.node(graph, names, node));
            if !self.options.value_info {
                continue;
            }
            for value in graph.nodes[node].outputs.iter().flatten() {
                let info = self.types.value(names.value(*value), &graph.values[*value].ty);
                if info.r#type.is_some() {
                    proto.value_info.push(info);
                }
            }
        }
        let returned: rustc_hash::FxHashSet<&str> =
            outputs.iter().filter(|o| !o.copied).map(|o| o.name.as_str()).collect();
        proto.value_info.retain(|v| !v.name.as_deref().is_some_and(|n| returned.contains(n)));
        for output in outputs {
            if output.copied {
                proto.node.push(identity(names, output));
            }
            proto.output.push(self.types.value(&output.name, &graph.values[output.value].ty));
        }
        proto
    }

    fn node(&mut self, graph: &Graph, names: &GraphNames, id: NodeId) -> NodeProto {
        let node = &graph.nodes[id];
        let name = |v: &Option<crate::ir::ValueId>| v.map_or(String::new(), |v| names.value(v).to_owned());
        let output: Vec<String> = node.outputs.iter().map(name).collect();
        let label = output.iter().find(|n| !n.is_empty()).map(|n| format!("node_{n}"));
        let origin = node.origin.map(|o| self.model.origins.get(o));
        let attributes = node.attributes.iter();
        NodeProto {
            input: node.inputs.iter().map(name).collect(),
            output,
            name: label,
            op_type: Some(node.op.clone()),
            domain: (!node.domain.is_empty()).then(|| node.domain.clone()),
            attribute: attributes
                .map(|a| self.attribute(graph, names, Some(node), &a.name, &a.value))
                .collect(),
            metadata_props: origin.map(|o| metadata::node(o, self.options)).unwrap_or_default(),
            ..NodeProto::default()
        }
    }

    fn attribute(
        &mut self,
        graph: &Graph,
        names: &GraphNames,
        node: Option<&Node>,
        name: &str,
        value: &Attr,
    ) -> AttributeProto {
        let mut proto = AttributeProto { name: Some(name.to_owned()), ..AttributeProto::default() };
        let kind = match value {
            Attr::Int(n) => {
                proto.i = Some(*n);
                AttributeType::Int
            }
            Attr::Float(n) => {
                proto.f = Some(*n);
                AttributeType::Float
            }
            Attr::Str(text) => {
                proto.s = Some(Bytes::copy_from_slice(text.as_bytes()));
                AttributeType::String
            }
            Attr::Ints(items) => {
                proto.ints.clone_from(items);
                AttributeType::Ints
            }
            Attr::Floats(items) => {
                proto.floats.clone_from(items);
                AttributeType::Floats
            }
            Attr::Strs(items) => {
                proto.strings = items.iter().map(|s| Bytes::copy_from_slice(s.as_bytes())).collect();
                AttributeType::Strings
            }
            Attr::Tensor(data) => {
                let mut tensor = tensor_head("", data);
                tensor.name = None;
                tensor.raw_data = raw_data(data);
                proto.t = Some(tensor);
                AttributeType::Tensor
            }
            Attr::Block(block) => {
                proto.g = Some(self.block(graph, names, *block, name));
                AttributeType::Graph
            }
            Attr::Ref(outer) => {
                proto.ref_attr_name = Some(outer.clone());
                node.map_or(AttributeType::Undefined, |n| referred(n, name, self.model.opset()))
            }
        };
        proto.r#type = Some(kind as i32);
        proto
    }
}

fn identity(names: &GraphNames, output: &Output) -> NodeProto {
    NodeProto {
        input: vec![names.value(output.value).to_owned()],
        output: vec![output.name.clone()],
        name: Some(format!("node_{}", output.name)),
        op_type: Some("Identity".to_owned()),
        ..NodeProto::default()
    }
}

/// The type of an attribute whose value a function's caller gives.
fn referred(node: &Node, name: &str, opset: i64) -> AttributeType {
    let schema = node.domain.is_empty().then(|| opset::lookup(&node.op, opset)).flatten();
    let kind = schema.and_then(|s| s.attributes.iter().find(|a| a.name == name)).map(|a| a.kind);
    match kind {
        Some(AttrKind::Float) => AttributeType::Float,
        Some(AttrKind::Int) => AttributeType::Int,
        Some(AttrKind::String) => AttributeType::String,
        Some(AttrKind::Tensor) => AttributeType::Tensor,
        Some(AttrKind::Graph) => AttributeType::Graph,
        Some(AttrKind::Floats) => AttributeType::Floats,
        Some(AttrKind::Ints) => AttributeType::Ints,
        Some(AttrKind::Strings) => AttributeType::Strings,
        _ => AttributeType::Undefined,
    }
}

fn tensor_head(name: &str, data: &LazyTensor) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        dims: data.shape.iter().map(|d| *d as i64).collect(),
        data_type: Some(data.dtype.onnx()),
        ..TensorProto::default()
    }
}

/// The bytes of a small tensor, borrowed where they are dense.
fn raw_data(data: &LazyTensor) -> Option<Bytes> {
    if let (Source::Mapped { file, offset, .. }, Some(range)) = (&data.source, data.dense_range()) {
        let (start, end) = (offset.checked_add(range.start)?, offset.checked_add(range.end)?);
        let bytes = Bytes::from_owner(file.clone());
        return (end <= bytes.len() as u64).then(|| bytes.slice(start as usize..end as usize));
    }
    data.read().map(|bytes| Bytes::from(bytes.into_owned()))
}

/// The lowest IR version that knows the opset and the element types of the model
/// (`VERSION_TABLE` in `onnx/helper.py`, and the notes at `TensorProto.DataType`).
fn ir_version(model: &Model) -> i64 {
    let by_opset = match model.opset() {
        ..=18 => 8,
        19 | 20 => 9,
        21 | 22 => 10,
        _ => 11,
    };
    let graphs = std::iter::once(&model.graph).chain(model.functions.iter().map(|f| &f.graph));
    let dtypes = graphs.flat_map(|g| g.values.iter()).filter(|(_, v)| v.def != Def::Gone);
    let by_dtype = dtypes.filter_map(|(_, v)| v.ty.dtype()).map(|dtype| match dtype {
        DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ => 9,
        DType::U4 | DType::I4 => 10,
        DType::F4E2M1 => 11,
        DType::F8E8M0 => 12,
        DType::U2 | DType::I2 => 13,
        _ => 8,
    });
    by_dtype.fold(by_opset, i64::max)
}
