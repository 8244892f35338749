//! Nodes and their attributes.

use bytes::Bytes;
use onnxport_proto::attribute_proto::AttributeType;
use onnxport_proto::{AttributeProto, NodeProto};

use super::{Encoder, Part};
use crate::ir::opset::{self, AttrKind};
use crate::ir::{Attr, Node, NodeId};
use crate::write::constants::{self, entries};
use crate::write::metadata;
use crate::write::value_info::some;

impl Encoder<'_> {
    pub(super) fn node(&mut self, source: &Part<'_>, id: NodeId) -> NodeProto {
        let Part { graph, names, .. } = *source;
        let node = &graph.nodes[id];
        let name = |v: &Option<crate::ir::ValueId>| v.map_or(String::new(), |v| names.value(v).to_owned());
        let output: Vec<String> = node.outputs.iter().map(name).collect();
        let label = output.iter().find(|n| !n.is_empty()).map(|n| format!("node_{n}"));
        let attributes = node.attributes.iter();
        let mut proto = NodeProto {
            input: node.inputs.iter().map(name).collect(),
            output,
            name: label,
            op_type: Some(node.op.to_string()),
            domain: some(&node.domain),
            overload: some(&node.overload),
            attribute: attributes.map(|a| self.attribute(source, Some(node), &a.name, &a.value)).collect(),
            metadata_props: node
                .origin
                .map(|origin| metadata::node(self.model, origin, self.options))
                .unwrap_or_default(),
            ..NodeProto::default()
        };
        if node.origin.is_some() && !self.model.origin.is_imported() {
            proto.metadata_props.extend(metadata::results(graph, names, id, self.options));
        }
        let note = graph.notes.nodes.get(&id);
        if let Some(note) = note.filter(|_| !self.model.origin.is_imported()) {
            metadata::add(&mut proto.metadata_props, &note.about.metadata);
        } else if let Some(note) = note {
            proto.name = some(&note.name);
            proto.doc_string = some(&note.about.doc);
            proto.metadata_props = entries(&note.about.metadata);
            proto.device_configurations.clone_from(&note.devices);
        }
        proto
    }

    pub(super) fn attribute(
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

/// The type of an attribute whose value a function's caller gives.
fn referred(node: &Node, name: &str, opset: i64) -> AttributeType {
    let schema = node.domain.is_empty().then(|| opset::lookup(&node.op, opset)).flatten();
    let kind = schema.and_then(|s| s.attributes.iter().find(|a| a.name == name)).map(|a| a.kind);
    kind.map_or(AttributeType::Undefined, AttrKind::onnx)
}
