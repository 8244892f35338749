//! Attributes of nodes.

use super::BlockId;
use crate::tensor::LazyTensor;

/// A named attribute.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Attr,
}

/// The value of an attribute.
#[derive(Clone, Debug)]
pub enum Attr {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f32),
    /// Text.
    Str(String),
    /// Integers.
    Ints(Vec<i64>),
    /// Floats.
    Floats(Vec<f32>),
    /// Texts.
    Strs(Vec<String>),
    /// A tensor.
    Tensor(LazyTensor),
    /// A nested graph.
    Block(BlockId),
    /// The value that the caller of the enclosing function gives for one of its attributes.
    Ref(String),
}
