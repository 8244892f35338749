//! Values and the types that the program states for them.

use std::sync::Arc;

use crate::Name;
use crate::arena::Id;
use crate::sym::Dim;
use crate::tensor::DType;

/// The id of a [`Value`] in its [`Body`](super::Body).
pub type Val = Id<Value>;

/// A value: an input of the graph or an output of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The name, unique in its body.
    pub name: Name,
    /// The type that the program states for it.
    pub ty: ValueType,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueType {
    /// A tensor. Values of one type may share it.
    Tensor(Arc<TensorType>),
    /// An integer, with the expression that it equals.
    SymInt(Dim),
    /// A float.
    SymFloat,
    /// A truth value.
    SymBool,
    /// An effect token; it has no data.
    Token,
    /// A custom class instance, by the name of its class.
    Custom(Name),
}

impl From<TensorType> for ValueType {
    fn from(ty: TensorType) -> Self {
        ValueType::Tensor(Arc::new(ty))
    }
}

impl ValueType {
    /// The tensor's type, if the value is one.
    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            ValueType::Tensor(ty) => Some(ty),
            _ => None,
        }
    }
}

/// The element type and the symbolic layout of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorType {
    /// Element type.
    pub dtype: DType,
    /// Size of every axis, outermost first.
    pub shape: Vec<Dim>,
    /// Elements to step per axis. Layout does not change ONNX semantics; aliases need it.
    pub strides: Vec<Dim>,
}

impl TensorType {
    /// A dense tensor whose strides are not of interest.
    pub fn dense(dtype: DType, shape: Vec<Dim>) -> Self {
        Self { dtype, shape, strides: Vec::new() }
    }
}
