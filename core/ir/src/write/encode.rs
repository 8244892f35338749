//! The protobuf message of a model.

use std::io::{self, Write};

use bytes::Bytes;
use onnxport_proto::attribute_proto::AttributeType;
use onnxport_proto::tensor_proto::DataLocation;
use onnxport_proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorAnnotation,
    TensorProto, ValueInfoProto,
};
use prost::Message as _;
use rustc_hash::FxHashSet;

use super::constants::{self, Constants, Held, entries};
use super::names::{GraphNames, Names, Output};
use super::plan::{Place, Plan, Weight};
use super::stream::{self, Meter, Out};
use super::value_info::{Types, some};
use super::{WriteOptions, metadata};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::ir::opset::{self, AttrKind};
use crate::ir::{
    Attr, BlockId, Def, Function, Graph, Header, Literal, Model, Node, NodeId, OpsetImport, ValueNote,
};
use crate::onnx::UNBOUND_LOCATION;
use crate::onnx::wire::{put_varint, varint_len};
use crate::tensor::DType;

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
    initializers: Vec<Piece<'a>>,
}

/// An initializer: its message and, where they are inline, its bytes.
struct Piece<'a> {
    head: Vec<u8>,
    raw: Option<(Weight<'a>, u64)>,
}

impl Piece<'_> {
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
            let mut head = constants::described(constants::head(weight.name, weight.data), weight.about);
            let (file, offset, len) = match place {
                Place::Left => return None,
                Place::Inline => {
                    let raw = Some((*weight, weight.data.byte_len().unwrap_or(u64::MAX)));
                    return Some(Piece { head: head.encode_to_vec(), raw });
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
            Some(Piece { head: head.encode_to_vec(), raw: None })
        });
        Message {
            initializers: initializers.collect(),
            model: model.encode_to_vec(),
            graph: graph.encode_to_vec(),
        }
    }

    fn graph_len(&self) -> u64 {
        let parts = self.initializers.iter().map(Piece::len).map(|len| 1 + varint_len(len) + len);
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
    pub(super) fn write(&self, out: &mut Out<'_>, meter: &Meter) -> io::Result<()> {
        let mut pending = vec![MODEL_GRAPH];
        put_varint(&mut pending, self.graph_len());
        for bytes in [&self.model, &pending, &self.graph] {
            out.write_all(bytes)?;
            meter.add(bytes.len() as u64)?;
        }
        pending.clear();
        for part in &self.initializers {
            pending.push(GRAPH_INITIALIZER);
            put_varint(&mut pending, part.len());
            pending.extend_from_slice(&part.head);
            let Some((weight, len)) = part.raw else { continue };
            pending.push(TENSOR_RAW_DATA);
            put_varint(&mut pending, len);
            out.write_all(&pending)?;
            meter.add(pending.len() as u64)?;
            pending.clear();
            stream::weight(&weight, out, meter)?;
        }
        out.write_all(&pending)?;
        meter.add(pending.len() as u64)
    }
}

/// A graph that is written.
struct Part<'a> {
    graph: &'a Graph,
    names: &'a GraphNames,
    constants: Constants<'a>,
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
        let constants = constants::of(&model.graph);
        let source = Part { graph: &model.graph, names: &names.graph, constants };
        let mut graph = self.block(&source, model.graph.main(), "main");
        let weight_inputs = weights.iter().filter(|weight| weight.is_input);
        let weight_inputs =
            weight_inputs.map(|w| self.types.value(w.name, &model.graph.values[w.value].ty, None));
        graph.input.extend(weight_inputs);
        let mut metadata_props = metadata::model(model, names);
        metadata::extend(&mut metadata_props, metadata::of_weights(weights, plan));
        let mut proto = ModelProto {
            ir_version: Some(ir_version(model)),
            opset_import: opsets(&model.opsets),
            producer_name: Some("onnxport".to_owned()),
            producer_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            metadata_props,
            functions,
            ..ModelProto::default()
        };
        if let Some(header) = &model.header {
            stated(&mut proto, header);
        }
        Message::of(&proto, &graph, weights, plan, data_names)
    }

    fn function(&mut self, function: &Function, names: &GraphNames) -> FunctionProto {
        let main = function.graph.main();
        let source = Part { graph: &function.graph, names, constants: constants::of(&function.graph) };
        let body = self.block(&source, main, &function.name);
        // A function has no initializers, so that its constants are nodes.
        let constants = function.graph.initializers.iter().map(|initializer| NodeProto {
            output: vec![names.value(initializer.value).to_owned()],
            op_type: Some("Constant".to_owned()),
            attribute: vec![self.attribute(&source, None, "value", &Attr::Tensor(initializer.data.clone()))],
            ..NodeProto::default()
        });
        let mut node: Vec<NodeProto> = constants.collect();
        node.extend(body.node);
        // The inputs and outputs of a function have no types but these.
        let ends = body.input.iter().chain(&body.output).filter(|_| self.model.header.is_some());
        let mut known: FxHashSet<&str> = FxHashSet::default();
        let ends = ends.filter(|info| says(info) && known.insert(info.name())).cloned();
        let mut value_info: Vec<ValueInfoProto> = ends.collect();
        value_info.extend(body.value_info.into_iter().filter(|_| self.model.header.is_some()));
        let attributes = function.defaults.iter();
        FunctionProto {
            name: Some(function.name.clone()),
            domain: Some(function.domain.clone()),
            overload: some(&function.overload),
            input: body.input.iter().filter_map(|i| i.name.clone()).collect(),
            output: body.output.into_iter().filter_map(|o| o.name).collect(),
            attribute: function.attributes.clone(),
            attribute_proto: attributes.map(|a| self.attribute(&source, None, &a.name, &a.value)).collect(),
            node,
            opset_import: opsets(function.opsets(self.model)),
            doc_string: some(&function.about.doc),
            metadata_props: entries(&function.about.metadata),
            value_info,
        }
    }

    fn block(&mut self, source: &Part<'_>, block: BlockId, name: &str) -> GraphProto {
        let Part { graph, names, .. } = *source;
        let mut proto = GraphProto { name: Some(name.to_owned()), ..GraphProto::default() };
        let outputs = names.outputs(block);
        let notes = &graph.notes.values;
        for value in &graph.blocks[block].inputs {
            let info = &graph.values[*value];
            proto.input.push(self.types.value(names.value(*value), &info.ty, notes.get(value)));
        }
        if self.model.header.is_some() {
            self.held(source, block, &mut proto);
        }
        for node in graph.order(block) {
            proto.node.push(self.node(source, node));
            if !self.options.value_info {
                continue;
            }
            for value in graph.nodes[node].outputs.iter().flatten() {
                let info = self.types.value(names.value(*value), &graph.values[*value].ty, notes.get(value));
                if says(&info) {
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
            let (info, note) = (&graph.values[output.value], notes.get(&output.value));
            proto.output.push(self.types.value(&output.name, &info.ty, note));
        }
        proto
    }

    /// What a block of a model that was read has besides nodes. Dense constants of the main graph are not among
    /// it: they are streamed.
    fn held(&mut self, source: &Part<'_>, block: BlockId, proto: &mut GraphProto) {
        let graph = source.graph;
        if let Some(note) = graph.notes.blocks.get(&block) {
            proto.name = some(&note.name);
            proto.doc_string = some(&note.about.doc);
            proto.metadata_props = entries(&note.about.metadata);
        }
        let streamed = block == graph.main() && std::ptr::eq(graph, &raw const self.model.graph);
        for (value, held) in source.constants.get(&block).into_iter().flatten() {
            let name = source.names.value(*value);
            let note = graph.notes.values.get(value);
            let about = note.map(|note| &note.tensor);
            let called =
                |tensor| TensorProto { name: Some(name.to_owned()), ..constants::described(tensor, about) };
            match held {
                Held::Dense(_) if streamed => {}
                Held::Dense(data) => proto.initializer.push(called(constants::dense(data))),
                Held::Literal(Literal::Text(text)) => proto.initializer.push(called(constants::text(text))),
                Held::Literal(Literal::Sparse(sparse)) => {
                    let mut tensor = constants::sparse(sparse);
                    tensor.values = tensor.values.map(called);
                    proto.sparse_initializer.push(tensor);
                }
            }
            let info = &graph.values[*value];
            if note.is_some_and(ValueNote::declares) && !matches!(info.def, Def::Input(..)) {
                proto.value_info.push(self.types.value(name, &info.ty, note));
            }
        }
        let quantised = graph.blocks[block].inputs.iter().copied();
        let constants = source.constants.get(&block).into_iter().flatten().map(|(value, _)| *value);
        let made = graph.order(block).flat_map(|node| graph.nodes[node].outputs.iter().flatten().copied());
        let mut seen = FxHashSet::default();
        for value in quantised.chain(constants).chain(made).filter(|value| seen.insert(*value)) {
            let Some(note) = graph.notes.values.get(&value).filter(|note| !note.quantised.is_empty()) else {
                continue;
            };
            proto.quantization_annotation.push(TensorAnnotation {
                tensor_name: Some(source.names.value(value).to_owned()),
                quant_parameter_tensor_names: entries(&note.quantised),
            });
        }
    }

    fn node(&mut self, source: &Part<'_>, id: NodeId) -> NodeProto {
        let Part { graph, names, .. } = *source;
        let node = &graph.nodes[id];
        let name = |v: &Option<crate::ir::ValueId>| v.map_or(String::new(), |v| names.value(v).to_owned());
        let output: Vec<String> = node.outputs.iter().map(name).collect();
        let label = output.iter().find(|n| !n.is_empty()).map(|n| format!("node_{n}"));
        let origin = node.origin.map(|o| self.model.origins.get(o));
        let attributes = node.attributes.iter();
        let mut proto = NodeProto {
            input: node.inputs.iter().map(name).collect(),
            output,
            name: label,
            op_type: Some(node.op.to_string()),
            domain: some(&node.domain),
            overload: some(&node.overload),
            attribute: attributes.map(|a| self.attribute(source, Some(node), &a.name, &a.value)).collect(),
            metadata_props: origin.map(|o| metadata::node(o, self.options)).unwrap_or_default(),
            ..NodeProto::default()
        };
        if let Some(note) = graph.notes.nodes.get(&id) {
            proto.name = some(&note.name);
            proto.doc_string = some(&note.about.doc);
            proto.metadata_props = entries(&note.about.metadata);
            proto.device_configurations.clone_from(&note.devices);
        }
        proto
    }

    fn attribute(
        &mut self,
        source: &Part<'_>,
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
                proto.t = Some(constants::dense(data));
                AttributeType::Tensor
            }
            Attr::Block(block) => {
                proto.g = Some(self.block(source, *block, name));
                AttributeType::Graph
            }
            Attr::Ref(outer, kind) => {
                proto.ref_attr_name = Some(outer.clone());
                let signature = || node.map(|n| referred(n, name, self.model.opset()));
                kind.map(AttrKind::onnx).or_else(signature).unwrap_or(AttributeType::Undefined)
            }
            Attr::Bytes(bytes) => {
                proto.s = Some(bytes.clone());
                AttributeType::String
            }
            Attr::BytesList(items) => {
                proto.strings.clone_from(items);
                AttributeType::Strings
            }
            Attr::Text(text) => {
                proto.t = Some(constants::text(text));
                AttributeType::Tensor
            }
            Attr::Sparse(sparse) => {
                proto.sparse_tensor = Some(constants::sparse(sparse));
                AttributeType::SparseTensor
            }
            Attr::Tensors(items) => {
                proto.tensors = items.iter().map(constants::either).collect();
                AttributeType::Tensors
            }
            Attr::Sparses(items) => {
                proto.sparse_tensors = items.iter().map(constants::sparse).collect();
                AttributeType::SparseTensors
            }
            Attr::Blocks(blocks) => {
                proto.graphs = blocks.iter().map(|block| self.block(source, *block, name)).collect();
                AttributeType::Graphs
            }
            Attr::Type(ty) => {
                proto.tp = Some(self.types.ty(ty).unwrap_or_default());
                AttributeType::TypeProto
            }
            Attr::Types(types) => {
                proto.type_protos = types.iter().map(|ty| self.types.ty(ty).unwrap_or_default()).collect();
                AttributeType::TypeProtos
            }
        };
        proto.r#type = Some(kind as i32);
        proto
    }
}

fn identity(names: &GraphNames, output: &Output) -> NodeProto {
    NodeProto {
        input: vec![names.value(output.value).to_owned()],
        output: vec![output.name.to_string()],
        name: Some(format!("node_{}", output.name)),
        op_type: Some("Identity".to_owned()),
        ..NodeProto::default()
    }
}

/// The type of an attribute whose value a function's caller gives.
fn referred(node: &Node, name: &str, opset: i64) -> AttributeType {
    let schema = node.domain.is_empty().then(|| opset::lookup(&node.op, opset)).flatten();
    let kind = schema.and_then(|s| s.attributes.iter().find(|a| a.name == name)).map(|a| a.kind);
    kind.map_or(AttributeType::Undefined, AttrKind::onnx)
}

fn opsets(opsets: &[OpsetImport]) -> Vec<OperatorSetIdProto> {
    let import =
        |o: &OpsetImport| OperatorSetIdProto { domain: Some(o.domain.clone()), version: Some(o.version) };
    opsets.iter().map(import).collect()
}

/// Whether a declaration says anything about its value.
fn says(info: &ValueInfoProto) -> bool {
    info.r#type.is_some() || info.doc_string.is_some() || !info.metadata_props.is_empty()
}

/// Makes `proto` say about itself what the model that was read said.
fn stated(proto: &mut ModelProto, header: &Header) {
    proto.producer_name = some(&header.producer);
    proto.producer_version = some(&header.producer_version);
    proto.domain = some(&header.domain);
    proto.model_version = Some(header.version).filter(|version| *version != 0);
    proto.doc_string = some(&header.doc);
    proto.configuration.clone_from(&header.devices);
    proto.training_info.clone_from(&header.training);
}

/// The lowest IR version that knows the opset and the element types of the model
/// (`VERSION_TABLE` in `onnx/helper.py`, and the notes at `TensorProto.DataType`).
fn ir_version(model: &Model) -> i64 {
    let least = match &model.header {
        Some(header) => header.ir_version,
        None => by_opset(model.opset()),
    };
    let graphs = std::iter::once(&model.graph).chain(model.functions.iter().map(|f| &f.graph));
    let dtypes = graphs.flat_map(|g| g.values.iter()).filter(|(_, v)| v.def != Def::Gone);
    let by_dtype = dtypes.filter_map(|(_, v)| v.ty.dtype()).map(|dtype| match dtype {
        DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ => 9,
        DType::U4 | DType::I4 => 10,
        DType::F4E2M1 => 11,
        DType::F8E8M0 => 12,
        DType::U2 | DType::I2 => 13,
        DType::F6E2M3 | DType::F6E3M2 => 14,
        _ => 1,
    });
    by_dtype.fold(least, i64::max)
}

fn by_opset(opset: i64) -> i64 {
    match opset {
        ..=18 => 8,
        19 | 20 => 9,
        21 | 22 => 10,
        23 => 11,
        24 => 12,
        25..=27 => 13,
        _ => 14,
    }
}
