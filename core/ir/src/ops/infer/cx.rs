//! The context of a rule: a node, its inputs and the table of symbols.

use smallvec::{SmallVec, smallvec};

use crate::ir::{Attr, Def, Graph, MAX_CONTENTS, Node, Shape, ShapeValue, Type, ValueId, small_integers};
use crate::sym::{Dim, Symbols};
use crate::tensor::{DType, LazyTensor};

/// The sizes of a value of known rank.
pub(in crate::ops) type Dims = SmallVec<[Option<Dim>; 4]>;

/// The shapes of a node's outputs, in order; further outputs are unknown.
pub(in crate::ops) type Shapes = SmallVec<[Shape; 2]>;

/// The element types of a node's outputs, in order; where there is none, that of the signature counts.
pub(in crate::ops) type Dtypes = SmallVec<[Option<DType>; 2]>;

/// The types of a node's outputs, in order; further outputs are unknown.
pub(in crate::ops) type Types = SmallVec<[Type; 2]>;

/// The elements of a node's outputs, in order, where they are known.
pub(in crate::ops) type Contents = SmallVec<[Option<ShapeValue>; 2]>;

pub(in crate::ops) struct Cx<'a> {
    pub(in crate::ops) graph: &'a Graph,
    pub(in crate::ops) symbols: &'a mut Symbols,
    pub(in crate::ops) node: &'a Node,
    /// The version of ONNX's own operators.
    pub(in crate::ops) opset: i64,
    /// Why no run of the node succeeds.
    pub(in crate::ops) refuted: Option<String>,
    /// Sizes that are spelled differently, and equal in every run that succeeds.
    pub(in crate::ops) equal: Vec<(Dim, Dim)>,
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

    /// The integer attribute called `name`, or its default.
    pub(in crate::ops) fn int(&self, name: &str) -> Option<i64> {
        self.node.at(self.opset).int(name)
    }

    /// Whether the integer attribute called `name`, or its default, is there and not 0.
    pub(in crate::ops) fn flag(&self, name: &str) -> Option<bool> {
        self.node.at(self.opset).flag(name)
    }

    /// The element type that the integer attribute called `name` stands for, or that of `other` where it is 0 or absent without a
    /// default.
    pub(in crate::ops) fn dtype_attr(
        &self,
        name: &str,
        other: impl FnOnce() -> Option<DType>,
    ) -> Option<DType> {
        if !self.flag(name)? {
            return other();
        }
        i32::try_from(self.int(name)?).ok().and_then(DType::from_onnx)
    }

    /// The text attribute called `name`, or its default.
    pub(in crate::ops) fn text(&self, name: &str) -> Option<&'a str> {
        self.node.at(self.opset).text(name)
    }

    /// The attribute `axis`, counted from the front; refutes one that does not exist.
    pub(in crate::ops) fn axis(&mut self, rank: usize) -> Option<usize> {
        self.exists(self.int("axis")?, rank)
    }

    /// `at` counted from the front; refutes an axis that does not exist.
    pub(in crate::ops) fn exists(&mut self, at: i64, rank: usize) -> Option<usize> {
        let found = axis(at, rank);
        // Runtimes differ on the first and last axis of a number.
        if found.is_none() && !(rank == 0 && matches!(at, 0 | -1)) {
            return self.refute(format!("axis {at} is out of range for rank {rank}"));
        }
        found
    }

    /// The axes that input `index` or, where the operator has none, the attribute `axes` names.
    pub(in crate::ops) fn axes(&mut self, index: usize, rank: usize) -> Option<SmallVec<[usize; 4]>> {
        let given = match (self.input(index), self.node.ints("axes")) {
            (Some(_), _) => self.ints(index)?,
            (None, Some(axes)) => axes.into(),
            (None, None) => return None,
        };
        given.iter().map(|a| self.exists(*a, rank)).collect()
    }

    /// The elements of a small integer tensor attribute.
    pub(in crate::ops) fn tensor_attr(&self, name: &str) -> Option<ShapeValue> {
        match self.node.attr(name) {
            Some(Attr::Tensor(data)) => small_integers(data),
            _ => None,
        }
    }

    /// Whether every run of the graph runs the node: no branch or loop may leave it out.
    pub(in crate::ops) fn always_runs(&self) -> bool {
        self.node.block == Some(self.graph.main())
    }

    /// Says that no run of the node succeeds, and why; the first reason counts. Returns nothing, with which a rule ends.
    ///
    /// A condition that may hold at some sizes, or that only a run can decide, is not refuted.
    pub(in crate::ops) fn refute<T>(&mut self, why: impl Into<String>) -> Option<T> {
        self.refuted.get_or_insert_with(|| why.into());
        None
    }

    /// Refutes unless `holds`.
    pub(in crate::ops) fn demand(&mut self, holds: bool, why: impl FnOnce() -> String) -> Option<()> {
        if holds { Some(()) } else { self.refute(why()) }
    }

    /// Demands that two sizes are equal, and refutes them if no sizes make them equal; `what` describes them.
    pub(in crate::ops) fn equal(&mut self, a: Option<Dim>, b: Option<Dim>, what: &str) -> Option<()> {
        let Some((a, b)) = a.zip(b) else { return Some(()) };
        if may_equal(self.symbols, a, b) {
            self.equal.extend((a != b).then_some((a, b)));
            return Some(());
        }
        let (a, b) = (self.symbols.display(a), self.symbols.display(b));
        self.refute(format!("{what}: {a} and {b}"))
    }

    /// Refutes an input whose number of axes is known and not `rank`.
    pub(in crate::ops) fn rank(&mut self, index: usize, rank: usize) -> Option<()> {
        match self.dims(index) {
            Some(dims) if dims.len() != rank => {
                self.refute(format!("input {index} has {} axes instead of {rank}", dims.len()))
            }
            _ => Some(()),
        }
    }

    /// Refutes an input that is known to have fewer than `least` axes.
    pub(in crate::ops) fn rank_from(&mut self, index: usize, least: usize) -> Option<()> {
        match self.dims(index) {
            Some(dims) if dims.len() < least => {
                self.refute(format!("input {index} has {} axes, fewer than {least}", dims.len()))
            }
            _ => Some(()),
        }
    }

    /// The number of elements of an input of one axis.
    pub(in crate::ops) fn length(&self, index: usize) -> Option<usize> {
        match self.dims(index)? {
            [Some(Dim::Const(n))] => usize::try_from(*n).ok(),
            _ => None,
        }
    }

    /// Refutes a list in input `index` that is known to have another length than `count`.
    pub(in crate::ops) fn counts(&mut self, index: usize, count: usize, what: &str) -> Option<()> {
        match self.length(index) {
            Some(n) if n != count => {
                self.refute(format!("input {index} has {n} elements for {count} {what}"))
            }
            _ => Some(()),
        }
    }

    /// The product, when every size is known.
    pub(in crate::ops) fn product(&mut self, dims: &[Option<Dim>]) -> Option<Dim> {
        let known: SmallVec<[Dim; 4]> = dims.iter().copied().collect::<Option<_>>()?;
        Some(self.symbols.product(known))
    }

    /// `dim + n`.
    pub(in crate::ops) fn plus(&mut self, dim: Dim, n: i64) -> Dim {
        self.symbols.add(dim, Dim::Const(n))
    }

    /// The shape that an integer input holds, with its known elements.
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

/// Whether two sizes may be equal for some values of their symbols, according to their ranges.
pub(in crate::ops) fn may_equal(symbols: &mut Symbols, a: Dim, b: Dim) -> bool {
    if let (Dim::Const(a), Dim::Const(b)) = (a, b) {
        return a == b;
    }
    let difference = symbols.sub(a, b);
    symbols.range(difference).contains(0)
}

/// The elements of the only output.
#[expect(clippy::unnecessary_wraps, reason = "what a rule returns")]
pub(in crate::ops) fn held(elements: ShapeValue) -> Option<Contents> {
    Some(smallvec![Some(elements)])
}

/// The common part of two types.
pub(in crate::ops) fn both(a: &Type, b: &Type) -> Type {
    match (a, b) {
        (Type::Tensor { dtype, shape }, Type::Tensor { dtype: other, shape: with }) => {
            Type::Tensor { dtype: dtype.filter(|_| dtype == other), shape: join(shape, with) }
        }
        (Type::Sequence(a), Type::Sequence(b)) => Type::Sequence(Box::new(both(a, b))),
        (Type::Optional(a), Type::Optional(b)) => Type::Optional(Box::new(both(a, b))),
        _ if a == b => a.clone(),
        _ => Type::Unknown,
    }
}

/// One known shape.
#[expect(clippy::unnecessary_wraps, reason = "what a rule returns")]
pub(in crate::ops) fn one(dims: impl IntoIterator<Item = Option<Dim>>) -> Option<Shapes> {
    Some(smallvec![Shape::Ranked(dims.into_iter().collect())])
}

/// The common part of two facts about a size.
pub(in crate::ops) fn either(a: Option<Dim>, b: Option<Dim>) -> Option<Dim> {
    match (a, b) {
        (Some(Dim::Const(_)), _) => a,
        (_, Some(Dim::Const(_))) => b,
        _ => a.or(b),
    }
}

/// The common part of two shapes.
pub(in crate::ops) fn join(a: &Shape, b: &Shape) -> Shape {
    match (a, b) {
        (Shape::Ranked(a), Shape::Ranked(b)) if a.len() == b.len() => {
            Shape::Ranked(a.iter().zip(b).map(|(a, b)| a.filter(|_| a == b)).collect())
        }
        _ => Shape::Unranked,
    }
}
