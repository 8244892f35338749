//! Attributes of nodes.

use crate::abi::graph::{AttributeView, attribute_kind};
use crate::abi::lowering::attr_kind;
use crate::{DType, Literal};

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// The node has no such attribute.
    None,
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
    /// A tensor of at most 64 KiB.
    Tensor(Literal),
    /// A larger tensor: its type and extents.
    LargeTensor(DType, Vec<u64>),
    /// A block, by its id.
    Block(u64),
    /// The attribute of this name of the function that holds the node.
    Reference(String),
}

impl Attribute {
    /// Whether the node has no such attribute.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// The integer, if it is one.
    pub fn int(&self) -> Option<i64> {
        match self {
            Self::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// The float, if it is one.
    pub fn float(&self) -> Option<f32> {
        match self {
            Self::Float(x) => Some(*x),
            _ => None,
        }
    }

    /// The integers, if it is a list of them.
    pub fn ints(&self) -> Option<&[i64]> {
        match self {
            Self::Ints(ints) => Some(ints),
            _ => None,
        }
    }

    pub(super) fn read(view: &AttributeView<'_>) -> Self {
        let text = || view.text.as_str().to_owned();
        match view.kind {
            attr_kind::INT => view.ints.first().map_or(Self::None, |n| Self::Int(*n)),
            attr_kind::FLOAT => view.floats.first().map_or(Self::None, |x| Self::Float(*x)),
            attr_kind::STR => Self::Str(text()),
            attr_kind::INTS => Self::Ints(view.ints.to_vec()),
            attr_kind::FLOATS => Self::Floats(view.floats.to_vec()),
            attr_kind::STRS => Self::Strs(view.texts.iter().map(|t| t.as_str().to_owned()).collect()),
            attr_kind::TENSOR => Self::tensor(view),
            attr_kind::BLOCK => Self::Block(view.block),
            attribute_kind::REFERENCE => Self::Reference(text()),
            _ => Self::None,
        }
    }

    fn tensor(view: &AttributeView<'_>) -> Self {
        let Some(literal) = Literal::read(&view.tensor) else { return Self::None };
        let elements = literal.shape.iter().try_fold(1_u64, |n, extent| n.checked_mul(*extent));
        if view.tensor.bytes.is_empty() && elements != Some(0) {
            return Self::LargeTensor(literal.dtype, literal.shape);
        }
        Self::Tensor(literal)
    }
}
