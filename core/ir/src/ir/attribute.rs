//! Attributes of nodes.

use bytes::Bytes;

use super::opset::AttrKind;
use super::{BlockId, DenseTensor, SparseTensor, TextTensor, Type};
use crate::name::Name;
use crate::tensor::LazyTensor;

/// A named attribute.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The name.
    pub name: Name,
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
    /// The value that the caller of the enclosing function gives for one of its attributes: the name of that,
    /// and the type where it is not the one that the operator's signature states.
    Ref(String, Option<AttrKind>),
    /// A string that is not UTF-8, such as a compiled blob of a runtime.
    Bytes(Bytes),
    /// Texts of which at least one is not UTF-8.
    BytesList(Vec<Bytes>),
    /// A tensor of texts.
    Text(TextTensor),
    /// A sparse tensor.
    Sparse(SparseTensor),
    /// Tensors.
    Tensors(Vec<DenseTensor>),
    /// Sparse tensors.
    Sparses(Vec<SparseTensor>),
    /// Nested graphs.
    Blocks(Vec<BlockId>),
    /// A type.
    Type(Type),
    /// Types.
    Types(Vec<Type>),
}

impl Attr {
    /// The nested graphs.
    pub fn blocks(&self) -> &[BlockId] {
        match self {
            Attr::Block(block) => std::slice::from_ref(block),
            Attr::Blocks(blocks) => blocks,
            _ => &[],
        }
    }
}
