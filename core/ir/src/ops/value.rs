//! Values of a graph.

use super::Tensor;
use crate::ir::{Shape, Type};
use crate::sym::Dim;
use crate::tensor::DType;

/// A value at run time.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A tensor.
    Tensor(Tensor),
    /// A sequence of tensors or of further sequences; the element type counts where it is empty.
    Sequence(DType, Vec<Value>),
    /// An optional value.
    Optional(Option<Box<Value>>),
    /// A map, in the order of its keys: two tensors of one axis, or the values as a sequence.
    Map(Tensor, Box<Value>),
}

impl Value {
    /// Bytes in memory.
    pub fn bytes(&self) -> u64 {
        match self {
            Value::Tensor(tensor) => tensor.bytes(),
            Value::Sequence(_, items) => {
                let item = |value: &Value| value.bytes().saturating_add(size_of::<Value>() as u64);
                items.iter().map(item).fold(0, u64::saturating_add)
            }
            Value::Optional(inner) => inner.as_ref().map_or(0, |v| v.bytes()),
            Value::Map(keys, values) => keys.bytes().saturating_add(values.bytes()),
        }
    }

    /// The number of values of a sequence; 0 for other values.
    pub(super) fn items(&self) -> u64 {
        match self {
            Value::Sequence(_, items) => items.len() as u64,
            Value::Optional(Some(inner)) => inner.items(),
            _ => 0,
        }
    }

    /// The tensor, if it is one.
    pub fn tensor(&self) -> Option<&Tensor> {
        match self {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The type, with every size.
    pub fn ty(&self) -> Type {
        let dims = |tensor: &Tensor| Shape::of(tensor.shape().iter().map(|d| Dim::Const(*d as i64)));
        match self {
            Value::Tensor(tensor) => Type::tensor(tensor.dtype(), dims(tensor)),
            Value::Sequence(dtype, items) => match items.first() {
                Some(inner @ Value::Sequence(..)) => Type::Sequence(Box::new(inner.ty())),
                _ => Type::sequence(*dtype),
            },
            Value::Optional(None) => Type::Optional(Box::new(Type::Unknown)),
            Value::Optional(Some(inner)) => Type::Optional(Box::new(inner.ty())),
            Value::Map(keys, values) => Type::Map(keys.dtype(), Box::new(values.ty())),
        }
    }

    /// The type and the shape in words.
    pub fn describe(&self) -> String {
        match self {
            Value::Tensor(tensor) => tensor.describe(),
            Value::Sequence(dtype, items) => format!("a sequence of {} ({dtype})", items.len()),
            Value::Optional(None) => "an empty optional".to_owned(),
            Value::Optional(Some(inner)) => format!("an optional of {}", inner.describe()),
            Value::Map(keys, _) => format!("a map of {}", keys.len()),
        }
    }
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Self {
        Value::Tensor(tensor)
    }
}
