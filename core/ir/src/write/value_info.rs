//! Types of values.

use onnxport_proto::tensor_shape_proto::{Dimension, dimension};
use onnxport_proto::{TensorShapeProto, TypeProto, ValueInfoProto, type_proto};
use rustc_hash::FxHashMap;

use super::metadata;
use crate::ir::{Model, Shape, Type, ValueNote};
use crate::sym::{Dim, Expr, Symbols};

/// Writes types; keeps the text of every dimension that it has written.
pub(super) struct Types<'a> {
    symbols: &'a Symbols,
    texts: FxHashMap<Dim, Option<String>>,
}

impl<'a> Types<'a> {
    pub(super) fn new(model: &'a Model) -> Self {
        let spelled = &model.graph.notes.dims;
        let texts = spelled.iter().map(|(dim, text)| (*dim, Some(text.clone()))).collect();
        Self { symbols: &model.symbols, texts }
    }

    /// Returns the declaration of the value called `name`: its known type, and its metadata.
    pub(super) fn value(&mut self, name: &str, ty: &Type, note: Option<&ValueNote>) -> ValueInfoProto {
        let mut info =
            ValueInfoProto { name: Some(name.to_owned()), r#type: self.ty(ty), ..ValueInfoProto::default() };
        let Some(note) = note else { return info };
        info.doc_string = some(&note.about.doc);
        info.metadata_props = note.about.metadata.iter().map(|(k, v)| metadata::entry(k, v)).collect();
        let Some(ty) = &mut info.r#type else { return info };
        ty.denotation = some(&note.denotation);
        let shape = match &mut ty.value {
            Some(type_proto::Value::TensorType(tensor)) => tensor.shape.as_mut(),
            Some(type_proto::Value::SparseTensorType(tensor)) => tensor.shape.as_mut(),
            _ => None,
        };
        for (dim, text) in shape.into_iter().flat_map(|s| &mut s.dim).zip(&note.axes) {
            dim.denotation = some(text);
        }
        info
    }

    /// The message of a type; `None` for one that is not known.
    pub(super) fn ty(&mut self, ty: &Type) -> Option<TypeProto> {
        let value = match ty {
            Type::Tensor { dtype, shape } => type_proto::Value::TensorType(type_proto::Tensor {
                elem_type: Some((*dtype)?.onnx()),
                shape: self.shape(shape),
            }),
            Type::SparseTensor { dtype, shape } => {
                type_proto::Value::SparseTensorType(type_proto::SparseTensor {
                    elem_type: Some((*dtype)?.onnx()),
                    shape: self.shape(shape),
                })
            }
            Type::Sequence(element) => type_proto::Value::SequenceType(Box::new(type_proto::Sequence {
                elem_type: self.ty(element).map(Box::new),
            })),
            Type::Optional(element) => type_proto::Value::OptionalType(Box::new(type_proto::Optional {
                elem_type: self.ty(element).map(Box::new),
            })),
            Type::Map(key, value) => type_proto::Value::MapType(Box::new(type_proto::Map {
                key_type: Some(key.onnx()),
                value_type: self.ty(value).map(Box::new),
            })),
            Type::Opaque { domain, name } => {
                type_proto::Value::OpaqueType(type_proto::Opaque { domain: some(domain), name: some(name) })
            }
            Type::Unknown => return None,
        };
        Some(TypeProto { value: Some(value), ..TypeProto::default() })
    }

    fn shape(&mut self, shape: &Shape) -> Option<TensorShapeProto> {
        let dims = shape.dims().map(|dims| dims.iter().map(|d| self.dimension(*d)).collect());
        dims.map(|dim| TensorShapeProto { dim })
    }

    fn dimension(&mut self, dim: Option<Dim>) -> Dimension {
        let value = match dim {
            None => None,
            Some(Dim::Const(n)) => Some(dimension::Value::DimValue(n)),
            Some(dim) => {
                let symbols = self.symbols;
                let text = self.texts.entry(dim).or_insert_with(|| {
                    // A number that has no name outside of this run says nothing to a reader.
                    (!opaque(symbols, dim)).then(|| symbols.display(dim))
                });
                text.clone().map(dimension::Value::DimParam)
            }
        };
        Dimension { value, ..Dimension::default() }
    }
}

/// A text, unless it is empty.
pub(super) fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Whether `dim` depends on a number that has no name.
fn opaque(symbols: &Symbols, dim: Dim) -> bool {
    let Dim::Expr(id) = dim else { return false };
    match symbols.expr(id) {
        Expr::Sym(_) => false,
        Expr::Opaque(_) => true,
        Expr::Sum(terms) => terms.iter().flat_map(|t| &t.factors).any(|f| opaque(symbols, Dim::Expr(*f))),
        Expr::FloorDiv(a, b) | Expr::Mod(a, b) => opaque(symbols, *a) || opaque(symbols, *b),
        Expr::Min(operands) | Expr::Max(operands) => operands.iter().any(|d| opaque(symbols, *d)),
    }
}
