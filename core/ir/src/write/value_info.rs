//! Types of values.

use onnxport_proto::tensor_shape_proto::{Dimension, dimension};
use onnxport_proto::{TensorShapeProto, TypeProto, ValueInfoProto, type_proto};
use rustc_hash::FxHashMap;

use crate::ir::{Shape, Type};
use crate::sym::{Dim, Expr, Symbols};
use crate::tensor::DType;

/// Writes types; keeps the text of every dimension that it has written.
pub(super) struct Types<'a> {
    symbols: &'a Symbols,
    texts: FxHashMap<Dim, Option<String>>,
}

impl<'a> Types<'a> {
    pub(super) fn new(symbols: &'a Symbols) -> Self {
        Self { symbols, texts: FxHashMap::default() }
    }

    /// What is known about the value called `name`.
    pub(super) fn value(&mut self, name: &str, ty: &Type) -> ValueInfoProto {
        ValueInfoProto { name: Some(name.to_owned()), r#type: self.ty(ty), ..ValueInfoProto::default() }
    }

    fn ty(&mut self, ty: &Type) -> Option<TypeProto> {
        let value = match ty {
            Type::Tensor { dtype, shape } => self.tensor((*dtype)?, shape),
            Type::Sequence(dtype) => {
                let element = self.tensor(*dtype, &Shape::Unranked);
                let element = TypeProto { value: Some(element), ..TypeProto::default() };
                type_proto::Value::SequenceType(Box::new(type_proto::Sequence {
                    elem_type: Some(Box::new(element)),
                }))
            }
            Type::Unknown => return None,
        };
        Some(TypeProto { value: Some(value), ..TypeProto::default() })
    }

    fn tensor(&mut self, dtype: DType, shape: &Shape) -> type_proto::Value {
        let dims = shape.dims().map(|dims| dims.iter().map(|d| self.dimension(*d)).collect());
        type_proto::Value::TensorType(type_proto::Tensor {
            elem_type: Some(dtype.onnx()),
            shape: dims.map(|dim| TensorShapeProto { dim }),
        })
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
