//! Constants in forms other than dense numbers.

use bytes::Bytes;

use super::{BlockId, ValueId};
use crate::tensor::LazyTensor;

/// A dense tensor of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextTensor {
    /// The sizes, outermost first.
    pub shape: Vec<u64>,
    /// The elements, row-major: as many as the sizes say. UTF-8 by ONNX's rules, which nothing checks.
    pub items: Vec<Bytes>,
}

/// A dense tensor of any element type.
#[derive(Clone, Debug)]
pub enum DenseTensor {
    /// Numbers.
    Numbers(LazyTensor),
    /// Texts.
    Text(TextTensor),
}

/// A tensor of which only some elements are stored; the others are zero.
#[derive(Clone, Debug)]
pub struct SparseTensor {
    /// The sizes, outermost first.
    pub shape: Vec<u64>,
    /// The stored elements, a vector.
    pub values: LazyTensor,
    /// The positions of the stored elements, i64: `[stored]` flat row-major indices, or `[stored, rank]`
    /// coordinates.
    pub indices: LazyTensor,
}

/// A constant in another form than as dense numbers.
#[derive(Clone, Debug)]
pub enum Literal {
    /// Texts.
    Text(TextTensor),
    /// Few elements that are not zero.
    Sparse(SparseTensor),
}

impl Literal {
    /// The sizes, outermost first.
    pub fn shape(&self) -> &[u64] {
        match self {
            Literal::Text(text) => &text.shape,
            Literal::Sparse(sparse) => &sparse.shape,
        }
    }

    /// The element type.
    pub fn dtype(&self) -> crate::tensor::DType {
        match self {
            Literal::Text(_) => crate::tensor::DType::String,
            Literal::Sparse(sparse) => sparse.values.dtype,
        }
    }
}

/// A constant in any form.
#[derive(Clone, Debug)]
pub enum Constant {
    /// Dense numbers.
    Dense(LazyTensor),
    /// Another form.
    Literal(Literal),
}

/// A constant of a graph that is not dense numbers: see [`Initializer`](super::Initializer) for those.
#[derive(Clone, Debug)]
pub struct LiteralConstant {
    /// The value that it defines.
    pub value: ValueId,
    /// The block that holds it; it is visible there and in the blocks inside.
    pub block: BlockId,
    /// The data.
    pub data: Literal,
}

/// The default value of an input.
#[derive(Clone, Debug)]
pub struct DefaultValue {
    /// The input.
    pub value: ValueId,
    /// The data.
    pub data: Constant,
}
