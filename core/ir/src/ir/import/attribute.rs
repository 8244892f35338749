//! Attributes of nodes.

use bytes::Bytes;
use onnxport_proto::AttributeProto;
use onnxport_proto::attribute_proto::AttributeType;

use super::{Importer, Res};
use crate::ir::opset::AttrKind;
use crate::ir::{Attr, Attribute, BlockId, Constant, Literal};

impl Importer {
    pub(super) fn attribute(&mut self, proto: AttributeProto, block: BlockId) -> Res<Attribute> {
        let name = proto.name().to_owned();
        if name.is_empty() {
            return Err("an attribute has no name".to_owned());
        }
        let value = self.value(proto, block).map_err(|why| format!("the attribute `{name}` {why}"))?;
        Ok(Attribute { name: name.into(), value })
    }

    fn value(&mut self, mut proto: AttributeProto, block: BlockId) -> Res<Attr> {
        if let Some(outer) = proto.ref_attr_name.take().filter(|outer| !outer.is_empty()) {
            return Ok(Attr::Ref(outer, AttrKind::from_onnx(proto.r#type())));
        }
        let kind = kind(&proto)?;
        Ok(match kind {
            AttributeType::Undefined => return Err("has no type".to_owned()),
            // A field that is missing has the value that protobuf gives it.
            AttributeType::Int => Attr::Int(proto.i()),
            AttributeType::Float => Attr::Float(proto.f()),
            AttributeType::String => string(proto.s.take().unwrap_or_default()),
            AttributeType::Ints => Attr::Ints(proto.ints),
            AttributeType::Floats => Attr::Floats(proto.floats),
            AttributeType::Strings => strings(proto.strings),
            AttributeType::Tensor => match self.data.constant(proto.t.take().unwrap_or_default())? {
                Constant::Dense(data) => Attr::Tensor(data),
                Constant::Literal(Literal::Text(text)) => Attr::Text(text),
                Constant::Literal(Literal::Sparse(sparse)) => Attr::Sparse(sparse),
            },
            AttributeType::Tensors => {
                let tensors = proto.tensors.into_iter().map(|t| self.data.either(t));
                Attr::Tensors(tensors.collect::<Res<_>>()?)
            }
            AttributeType::SparseTensor => {
                Attr::Sparse(self.data.sparse(proto.sparse_tensor.take().unwrap_or_default())?)
            }
            AttributeType::SparseTensors => {
                let tensors = proto.sparse_tensors.into_iter().map(|t| self.data.sparse(t));
                Attr::Sparses(tensors.collect::<Res<_>>()?)
            }
            AttributeType::Graph => {
                let graph = proto.g.take().ok_or("holds no graph")?;
                Attr::Block(
                    self.nested(graph, block).map_err(|why| format!("contains a graph in which {why}"))?,
                )
            }
            AttributeType::Graphs => {
                let graphs = proto.graphs.into_iter().map(|g| self.nested(g, block));
                let graphs: Res<_> = graphs.collect();
                Attr::Blocks(graphs.map_err(|why| format!("contains graphs in which {why}"))?)
            }
            AttributeType::TypeProto => Attr::Type(self.ty(proto.tp.take().unwrap_or_default())?),
            AttributeType::TypeProtos => {
                let types = proto.type_protos.into_iter().map(|t| self.ty(t));
                Attr::Types(types.collect::<Res<_>>()?)
            }
        })
    }
}

/// Returns the type that an attribute states or, in the oldest files, which state none, the type of its field.
fn kind(proto: &AttributeProto) -> Res<AttributeType> {
    // Some exporters write every scalar field, zeros included: a zero alone says nothing.
    let held = [
        (AttributeType::Float, proto.f().to_bits() != 0, proto.f.is_some()),
        (AttributeType::Int, proto.i() != 0, proto.i.is_some()),
        (AttributeType::String, !proto.s().is_empty(), proto.s.is_some()),
        (AttributeType::Tensor, proto.t.is_some(), false),
        (AttributeType::Graph, proto.g.is_some(), false),
        (AttributeType::SparseTensor, proto.sparse_tensor.is_some(), false),
        (AttributeType::TypeProto, proto.tp.is_some(), false),
        (AttributeType::Floats, !proto.floats.is_empty(), false),
        (AttributeType::Ints, !proto.ints.is_empty(), false),
        (AttributeType::Strings, !proto.strings.is_empty(), false),
        (AttributeType::Tensors, !proto.tensors.is_empty(), false),
        (AttributeType::Graphs, !proto.graphs.is_empty(), false),
        (AttributeType::SparseTensors, !proto.sparse_tensors.is_empty(), false),
        (AttributeType::TypeProtos, !proto.type_protos.is_empty(), false),
    ];
    let number = proto.r#type.unwrap_or(0);
    let stated = AttributeType::try_from(number).map_err(|_| format!("has a type of number {number}"))?;
    let mut filled = held.iter().filter(|(_, filled, _)| *filled).map(|(kind, ..)| *kind);
    let zero = || held.iter().find(|(.., there)| *there).map(|(kind, ..)| *kind);
    match (stated, filled.next(), filled.next()) {
        (AttributeType::Undefined, Some(only), None) => Ok(only),
        (AttributeType::Undefined, None, _) => zero().ok_or_else(|| "has no type".to_owned()),
        (stated, None, _) => Ok(stated),
        (stated, Some(only), None) if stated == only => Ok(stated),
        _ => Err("has a value that does not match its type".to_owned()),
    }
}

fn string(bytes: Bytes) -> Attr {
    match std::str::from_utf8(&bytes) {
        Ok(text) => Attr::Str(text.to_owned()),
        Err(_) => Attr::Bytes(bytes),
    }
}

fn strings(items: Vec<Bytes>) -> Attr {
    let texts: Result<Vec<String>, _> =
        items.iter().map(|bytes| std::str::from_utf8(bytes).map(str::to_owned)).collect();
    texts.map_or_else(|_| Attr::BytesList(items), Attr::Strs)
}
