//! What a rule sees: a node, its inputs and the table of symbols.

use smallvec::{SmallVec, smallvec};

use crate::ir::{Attr, Def, Graph, MAX_CONTENTS, Node, Shape, ShapeValue, Type, ValueId, small_integers};
use crate::sym::{Dim, Symbols};
use crate::tensor::{DType, LazyTensor};

/// The extents of a value of known rank.
pub(in crate::ops) type Dims = SmallVec<[Option<Dim>; 4]>;

/// The shapes of a node's outputs, in order; further outputs are unknown.
pub(in crate::ops) type Shapes = SmallVec<[Shape; 2]>;

pub(in crate::ops) struct Cx<'a> {
    pub(in crate::ops) graph: &'a Graph,
    pub(in crate::ops) symbols: &'a mut Symbols,
    pub(in crate::ops) node: &'a Node,
}

impl<'a> Cx<'a> {
    pub(in crate::ops) fn input(&self, index: usize) -> Option<ValueId> {
        self.node.inputs.get(index).copied().flatten()
    }

    pub(in crate::ops) fn ty(&self, index: usize) -> Option<&'a Type> {
        let graph = self.graph;
        self.input(index).map(|v| &graph.values[v].ty)
    }

    pub(in crate::ops) fn dtype(&self, index: usize) -> Option<DType> {
        self.ty(index)?.dtype()
    }

    pub(in crate::ops) fn dims(&self, index: usize) -> Option<&'a [Option<Dim>]> {
        self.ty(index)?.shape()?.dims()
    }

    pub(in crate::ops) fn dim(&self, index: usize, axis: usize) -> Option<Dim> {
        self.dims(index)?.get(axis).copied().flatten()
    }

    /// The elements of a small integer input.
    pub(in crate::ops) fn contents(&self, index: usize) -> Option<ShapeValue> {
        self.graph.shape_value(self.input(index)?)
    }

    /// The elements of a small integer input, when all are constants.
    pub(in crate::ops) fn ints(&self, index: usize) -> Option<SmallVec<[i64; 4]>> {
        self.contents(index)?.into_iter().map(Dim::as_const).collect()
    }

    /// The tensor behind an input: an initializer or the value of a `Constant`.
    pub(in crate::ops) fn constant(&self, index: usize) -> Option<&'a LazyTensor> {
        let value = self.input(index)?;
        let graph = self.graph;
        if let Def::Node(node, 0) = graph.values[value].def {
            let node = &graph.nodes[node];
            return match node.attr("value") {
                Some(Attr::Tensor(data)) if node.is("Constant") => Some(data),
                _ => None,
            };
        }
        graph.initializer(value).filter(|_| !graph.is_weight(value))
    }

    /// The elements of a small constant of 32-bit floats.
    pub(in crate::ops) fn floats(&self, index: usize) -> Option<SmallVec<[f32; 4]>> {
        let data = self.constant(index)?;
        if data.dtype != DType::F32 || data.elements()? > MAX_CONTENTS as u64 {
            return None;
        }
        let bytes = data.read()?;
        let (chunks, _) = bytes.as_chunks::<4>();
        Some(chunks.iter().map(|c| f32::from_le_bytes(*c)).collect())
    }

    pub(in crate::ops) fn int(&self, name: &str, default: i64) -> i64 {
        self.node.int(name).unwrap_or(default)
    }

    pub(in crate::ops) fn text(&self, name: &str) -> Option<&'a str> {
        match self.node.attr(name) {
            Some(Attr::Str(text)) => Some(text),
            _ => None,
        }
    }

    /// The attribute `axis`, counted from the front.
    pub(in crate::ops) fn axis(&self, default: i64, rank: usize) -> Option<usize> {
        axis(self.int("axis", default), rank)
    }

    /// The axes that input `index` or, where the operator has none, the attribute `axes` names.
    pub(in crate::ops) fn axes(&self, index: usize, rank: usize) -> Option<SmallVec<[usize; 4]>> {
        let given = match (self.input(index), self.node.ints("axes")) {
            (Some(_), _) => self.ints(index)?,
            (None, Some(axes)) => axes.into(),
            (None, None) => return None,
        };
        given.iter().map(|a| axis(*a, rank)).collect()
    }

    /// The elements of a small integer tensor attribute.
    pub(in crate::ops) fn tensor_attr(&self, name: &str) -> Option<ShapeValue> {
        match self.node.attr(name) {
            Some(Attr::Tensor(data)) => small_integers(data),
            _ => None,
        }
    }

    /// The product, when every extent is known.
    pub(in crate::ops) fn product(&mut self, dims: &[Option<Dim>]) -> Option<Dim> {
        let known: SmallVec<[Dim; 4]> = dims.iter().copied().collect::<Option<_>>()?;
        Some(self.symbols.product(known))
    }

    /// `dim + n`.
    pub(in crate::ops) fn plus(&mut self, dim: Dim, n: i64) -> Dim {
        self.symbols.add(dim, Dim::Const(n))
    }

    /// The shape that an integer input holds; of its elements, those that are known.
    pub(in crate::ops) fn shape_from(&self, index: usize) -> Option<Dims> {
        if let Some(contents) = self.contents(index) {
            return Some(contents.into_iter().map(Some).collect());
        }
        match self.dims(index)? {
            [Some(Dim::Const(n @ 0..=64))] => Some(smallvec![None; *n as usize]),
            _ => None,
        }
    }
}

/// `axis` counted from the front.
pub(in crate::ops) fn axis(axis: i64, rank: usize) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    let axis = if axis < 0 { axis.checked_add(rank)? } else { axis };
    (0..rank).contains(&axis).then_some(axis as usize)
}

/// One known shape.
#[expect(clippy::unnecessary_wraps, reason = "what a rule returns")]
pub(in crate::ops) fn one(dims: impl IntoIterator<Item = Option<Dim>>) -> Option<Shapes> {
    Some(smallvec![Shape::Ranked(dims.into_iter().collect())])
}

/// What both say about the same extent.
pub(in crate::ops) fn either(a: Option<Dim>, b: Option<Dim>) -> Option<Dim> {
    match (a, b) {
        (Some(Dim::Const(_)), _) => a,
        (_, Some(Dim::Const(_))) => b,
        _ => a.or(b),
    }
}

/// What holds whichever of two shapes a value has.
pub(in crate::ops) fn join(a: &Shape, b: &Shape) -> Shape {
    match (a, b) {
        (Shape::Ranked(a), Shape::Ranked(b)) if a.len() == b.len() => {
            Shape::Ranked(a.iter().zip(b).map(|(a, b)| a.filter(|_| a == b)).collect())
        }
        _ => Shape::Unranked,
    }
}
