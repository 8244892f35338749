//! Types of values.

use onnxport_proto::tensor_shape_proto::dimension;
use onnxport_proto::{TensorShapeProto, TypeProto, type_proto};

use super::{Importer, Res};
use crate::ir::{Shape, Type};
use crate::sym::Dim;
use crate::tensor::DType;

/// A type with its denotation and those of its axes.
pub(super) struct DeclaredType {
    pub(super) ty: Type,
    pub(super) denotation: String,
    pub(super) axes: Vec<String>,
}

impl Importer {
    /// Returns the type and the denotations of a declaration.
    pub(super) fn stated(&mut self, proto: TypeProto) -> Res<DeclaredType> {
        let denotation = proto.denotation.clone().unwrap_or_default();
        let shape = match &proto.value {
            Some(type_proto::Value::TensorType(tensor)) => tensor.shape.as_ref(),
            Some(type_proto::Value::SparseTensorType(tensor)) => tensor.shape.as_ref(),
            _ => None,
        };
        let axes = shape.iter().flat_map(|s| &s.dim).map(|d| d.denotation().to_owned());
        let mut axes: Vec<String> = axes.collect();
        if axes.iter().all(String::is_empty) {
            axes.clear();
        }
        Ok(DeclaredType { ty: self.ty(proto)?, denotation, axes })
    }

    pub(super) fn ty(&mut self, proto: TypeProto) -> Res<Type> {
        let inner = |cx: &mut Self, element: Option<Box<TypeProto>>| {
            Ok::<_, String>(Box::new(element.map_or(Ok(Type::Unknown), |element| cx.ty(*element))?))
        };
        Ok(match proto.value {
            None => Type::Unknown,
            Some(type_proto::Value::TensorType(tensor)) => {
                Type::Tensor { dtype: dtype(tensor.elem_type())?, shape: self.shape(tensor.shape) }
            }
            Some(type_proto::Value::SparseTensorType(tensor)) => {
                Type::SparseTensor { dtype: dtype(tensor.elem_type())?, shape: self.shape(tensor.shape) }
            }
            Some(type_proto::Value::SequenceType(sequence)) => {
                Type::Sequence(inner(self, sequence.elem_type)?)
            }
            Some(type_proto::Value::OptionalType(optional)) => {
                Type::Optional(inner(self, optional.elem_type)?)
            }
            Some(type_proto::Value::MapType(map)) => {
                let key = dtype(map.key_type())?.ok_or("a map has keys of no type")?;
                Type::Map(key, inner(self, map.value_type)?)
            }
            Some(type_proto::Value::OpaqueType(opaque)) => Type::Opaque {
                domain: opaque.domain.unwrap_or_default(),
                name: opaque.name.unwrap_or_default(),
            },
        })
    }

    fn shape(&mut self, shape: Option<TensorShapeProto>) -> Shape {
        let Some(shape) = shape else { return Shape::Unranked };
        let dims = shape.dim.into_iter().map(|dim| match dim.value {
            // Some exporters write -1 where they do not know.
            Some(dimension::Value::DimValue(extent)) => (extent >= 0).then_some(Dim::Const(extent)),
            Some(dimension::Value::DimParam(name)) if !name.is_empty() => Some(self.dim(&name)),
            Some(dimension::Value::DimParam(_)) | None => None,
        });
        Shape::Ranked(dims.collect())
    }

    /// The size that a model calls `text`: an expression where it is spelled as one, else a name. No size is negative.
    fn dim(&mut self, text: &str) -> Dim {
        let symbols = &mut self.model.symbols;
        if is_expression(text)
            && let Ok(dim @ Dim::Expr(_)) = symbols.parse(text)
        {
            if symbols.display(dim) == text {
                return dim;
            }
            // `((s0 - 2)//2) + 1` is `s0//2`; `batch-size` is a name.
            if is_spaced(text) {
                if symbols.as_symbol(dim).is_none() {
                    self.graph.notes.dims.entry(dim).or_insert_with(|| text.to_owned());
                }
                return dim;
            }
        }
        let dim = symbols.symbol(text);
        if let Some(id) = symbols.as_symbol(dim) {
            symbols.get_mut(id).range.min.get_or_insert(0);
        }
        dim
    }
}

/// Whether `text` may be an expression of several parts.
fn is_expression(text: &str) -> bool {
    text.contains(['+', '-', '*', '/', '%', '(']) && text.len() <= 1024
}

/// Whether `text` has a quotient, a remainder or an extreme, and is spelled as exporters spell those: with spaces around
/// signs.
fn is_spaced(text: &str) -> bool {
    let mut spaced = text.match_indices(['+', '-']).map(|(at, sign)| {
        let (before, rest) = text.split_at(at);
        let is_binary =
            before.ends_with(' ') && rest.strip_prefix(sign).is_some_and(|after| after.starts_with(' '));
        is_binary || before.is_empty() || before.ends_with('(')
    });
    ["//", "%", "max(", "min("].iter().any(|sign| text.contains(sign)) && spaced.all(|spaced| spaced)
}

/// An element type; `None` for one that is not stated.
pub(super) fn dtype(code: i32) -> Res<Option<DType>> {
    match code {
        0 => Ok(None),
        code => {
            DType::from_onnx(code).map(Some).ok_or_else(|| format!("an element type has the number {code}"))
        }
    }
}
