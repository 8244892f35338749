//! Values, which nodes read and define.

use smallvec::SmallVec;

use super::{BlockId, NodeId};
use crate::arena::Id;
use crate::name::Name;
use crate::sym::Dim;
use crate::tensor::DType;

/// The id of a value in its graph.
pub type ValueId = Id<ValueInfo>;

/// A shape; an unknown rank is not a shape of unknown dims.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Shape {
    /// Nothing is known.
    #[default]
    Unranked,
    /// One entry per axis; `None` where the size is unknown.
    Ranked(SmallVec<[Option<Dim>; 4]>),
}

impl Shape {
    /// A shape of known extents.
    pub fn of(dims: impl IntoIterator<Item = Dim>) -> Self {
        Shape::Ranked(dims.into_iter().map(Some).collect())
    }

    /// The number of axes.
    pub fn rank(&self) -> Option<usize> {
        self.dims().map(<[_]>::len)
    }

    /// The extents.
    pub fn dims(&self) -> Option<&[Option<Dim>]> {
        match self {
            Shape::Unranked => None,
            Shape::Ranked(dims) => Some(dims),
        }
    }
}

impl Shape {
    /// The sizes, to change them.
    pub fn dims_mut(&mut self) -> Option<&mut [Option<Dim>]> {
        match self {
            Shape::Unranked => None,
            Shape::Ranked(dims) => Some(dims),
        }
    }
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A tensor; the element type is unknown only while a lowering builds it.
    Tensor {
        /// Element type.
        dtype: Option<DType>,
        /// Extents.
        shape: Shape,
    },
    /// A sequence of values of one type.
    Sequence(Box<Type>),
    /// A value that may be missing.
    Optional(Box<Type>),
    /// A map.
    Map(DType, Box<Type>),
    /// A tensor of which only some elements are stored.
    SparseTensor {
        /// Element type.
        dtype: Option<DType>,
        /// Extents.
        shape: Shape,
    },
    /// Something that only a foreign domain knows.
    Opaque {
        /// The domain.
        domain: String,
        /// The name in it.
        name: String,
    },
    /// Nothing is known.
    Unknown,
}

impl Type {
    /// A tensor of known type and shape.
    pub fn tensor(dtype: DType, shape: Shape) -> Self {
        Type::Tensor { dtype: Some(dtype), shape }
    }

    /// A sequence of tensors of `dtype`.
    pub fn sequence(dtype: DType) -> Self {
        Type::Sequence(Box::new(Type::tensor(dtype, Shape::Unranked)))
    }

    /// The same without the names of sizes, which mean nothing in another graph.
    #[must_use]
    pub fn without_symbols(&self) -> Self {
        let mut ty = self.clone();
        let mut inner = &mut ty;
        while let Type::Sequence(element) | Type::Optional(element) | Type::Map(_, element) = inner {
            inner = element;
        }
        if let Type::Tensor { shape: Shape::Ranked(dims), .. }
        | Type::SparseTensor { shape: Shape::Ranked(dims), .. } = inner
        {
            for dim in dims {
                *dim = dim.filter(|dim| matches!(dim, Dim::Const(_)));
            }
        }
        ty
    }

    /// Fills in unknown parts: the element type, the rank, single extents.
    pub fn fill(&mut self, stated: DType, dims: &Shape) {
        self.combine(stated, dims, Option::or);
    }

    /// As [`fill`](Self::fill), and replaces symbolic sizes by the expressions of `dims`.
    pub fn restate(&mut self, stated: DType, dims: &Shape) {
        self.combine(stated, dims, |have, more| match have {
            Some(Dim::Const(_)) => have,
            _ => more.or(have),
        });
    }

    fn combine(
        &mut self,
        stated: DType,
        dims: &Shape,
        both: impl Fn(Option<Dim>, Option<Dim>) -> Option<Dim>,
    ) {
        match self {
            Type::Unknown => *self = Type::tensor(stated, dims.clone()),
            Type::Tensor { dtype, shape } => {
                dtype.get_or_insert(stated);
                match (shape, dims) {
                    (shape @ Shape::Unranked, _) => *shape = dims.clone(),
                    (Shape::Ranked(have), Shape::Ranked(more)) if have.len() == more.len() => {
                        for (have, more) in have.iter_mut().zip(more) {
                            *have = both(*have, *more);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Whether the kind of the value is known, with the types of its elements.
    pub fn is_stated(&self) -> bool {
        match self {
            Type::Unknown => false,
            Type::Tensor { dtype, .. } | Type::SparseTensor { dtype, .. } => dtype.is_some(),
            Type::Sequence(element) | Type::Optional(element) | Type::Map(_, element) => element.is_stated(),
            Type::Opaque { .. } => true,
        }
    }

    /// The element type, if the value is a tensor, or a sequence of tensors, whose type is known.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Type::Tensor { dtype, .. } => *dtype,
            Type::Sequence(element) => element.dtype(),
            _ => None,
        }
    }

    /// The shape, if the value is a tensor.
    pub fn shape(&self) -> Option<&Shape> {
        match self {
            Type::Tensor { shape, .. } => Some(shape),
            _ => None,
        }
    }
}

/// The definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Def {
    /// The input of a block, by position.
    Input(BlockId, u32),
    /// An initializer of the model, by position in [`Graph::initializers`](super::Graph::initializers).
    Initializer(u32),
    /// A constant in another form, by position in [`Graph::literals`](super::Graph::literals).
    Literal(u32),
    /// An output of a node, by position.
    Node(NodeId, u32),
    /// Nothing any more: its node was removed.
    Gone,
}

/// A use of a value: an input of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The node.
    pub node: NodeId,
    /// The position among the node's inputs.
    pub index: u32,
}

/// A value.
#[derive(Clone, Debug)]
pub struct ValueInfo {
    /// The name; `None` until the graph is written, for values that nobody named.
    pub name: Option<Name>,
    /// The known part of its type.
    pub ty: Type,
    /// Its definition.
    pub def: Def,
    pub(crate) uses: SmallVec<[Use; 2]>,
}

impl ValueInfo {
    /// The nodes that read it, in no particular order. Block outputs are not listed.
    pub fn uses(&self) -> &[Use] {
        &self.uses
    }
}
