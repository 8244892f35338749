//! The types of what a node gives, for the operators that the evaluator knows: what a host's own
//! inference tells a lowering. Of other operators nothing is known.
//!
//! Source: the operators' pages of the ONNX documentation, opsets 18 to 23.

use super::graph::{Attr, Graph, Node};
use super::sym::Symbols;
use crate::abi::lowering::dim_op;
use crate::{DType, Dim};

/// The domain of the test kit's own node.
pub(super) const TESTKIT: &str = "onnxport.testkit";

/// One input in, the same type and shape out.
pub(super) const SAME: &[&str] = &[
    "Abs",
    "Neg",
    "Exp",
    "Log",
    "Sqrt",
    "Reciprocal",
    "Sigmoid",
    "Tanh",
    "Erf",
    "Floor",
    "Ceil",
    "Round",
    "Sign",
    "Relu",
    "Sin",
    "Cos",
    "Tan",
    "Asin",
    "Acos",
    "Atan",
    "Sinh",
    "Cosh",
    "Softplus",
    "Softsign",
    "LeakyRelu",
    "Elu",
    "Selu",
    "HardSigmoid",
    "HardSwish",
    "Gelu",
    "Mish",
    "Not",
    "Identity",
    "Clip",
    "Softmax",
    "LogSoftmax",
    "CumSum",
    "Trilu",
];

/// Inputs of one type, broadcast.
pub(super) const BROADCAST: &[&str] =
    &["Add", "Sub", "Mul", "Div", "Pow", "Mod", "And", "Or", "Xor", "Max", "Min", "Sum", "Mean", "PRelu"];

/// Inputs of one type, broadcast to truth values.
pub(super) const COMPARE: &[&str] = &["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"];

/// Reductions; their axes are an input.
pub(super) const REDUCE: &[&str] = &[
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceLogSumExp",
];

type Shape = Option<Vec<Dim>>;

/// Fills in what is known about the outputs of `node`.
pub(super) fn infer(symbols: &mut Symbols, graph: &mut Graph, node: &Node) {
    if !node.domain.is_empty() {
        return;
    }
    let mut inference = Inference { symbols, graph, node };
    let dtype = inference.dtype();
    let shapes = inference.shapes();
    let contents = inference.contents();
    for (index, output) in node.outputs.iter().enumerate() {
        let info = &mut graph.values[*output];
        info.dtype = dtype;
        info.shape = shapes.get(index).cloned().flatten();
        if index == 0 {
            info.contents.clone_from(&contents);
        }
    }
}

struct Inference<'a> {
    symbols: &'a mut Symbols,
    graph: &'a Graph,
    node: &'a Node,
}

impl Inference<'_> {
    fn input(&self, index: usize) -> Option<usize> {
        self.node.inputs.get(index).copied().flatten()
    }

    fn shape(&self, index: usize) -> Shape {
        self.graph.values.get(self.input(index)?)?.shape.clone()
    }

    fn ints(&self, index: usize) -> Option<Vec<i64>> {
        self.graph.known_ints(self.input(index)?)
    }

    fn dtype_of(&self, index: usize) -> Option<DType> {
        self.graph.values.get(self.input(index)?)?.dtype
    }

    fn dtype(&self) -> Option<DType> {
        let op = self.node.op.as_str();
        match op {
            "Shape" | "Size" | "ArgMax" | "ArgMin" => Some(DType::I64),
            "IsNaN" | "IsInf" => Some(DType::Bool),
            "Cast" => DType::from_onnx(self.node.int("to")? as i32),
            "CastLike" | "Where" => self.dtype_of(1),
            "Constant" => self.node.constant().map(|tensor| tensor.dtype()),
            "ConstantOfShape" => match self.node.attribute("value") {
                Some(Attr::Tensor(tensor)) => Some(tensor.dtype()),
                _ => Some(DType::F32),
            },
            "MatMul" | "Gemm" | "Reshape" | "Transpose" | "Unsqueeze" | "Squeeze" | "Flatten" | "Concat"
            | "Slice" | "Split" | "Gather" | "GatherElements" | "Expand" | "Tile" | "Pad" | "Range" => {
                self.dtype_of(0)
            }
            _ if COMPARE.contains(&op) => Some(DType::Bool),
            _ if [SAME, BROADCAST, REDUCE].iter().any(|list| list.contains(&op)) => self.dtype_of(0),
            _ => None,
        }
    }

    fn shapes(&mut self) -> Vec<Shape> {
        let op = self.node.op.as_str();
        if op == "Split" {
            return self.split().unwrap_or_default();
        }
        let shape = match op {
            "IsNaN" | "IsInf" | "Cast" | "CastLike" => self.shape(0),
            "Where" => self.broadcast(0..3),
            "MatMul" => self.matmul(),
            "Gemm" => self.gemm(),
            "Shape" => self.shape_range().map(|dims| vec![Dim::Const(dims.len() as i64)]),
            "Size" => Some(Vec::new()),
            "Reshape" => self.reshape(),
            "Transpose" => self.transpose(),
            "Unsqueeze" => self.unsqueeze(),
            "Squeeze" => self.squeeze(),
            "Flatten" => self.flatten(),
            "Concat" => self.concat(),
            "Slice" => self.slice(),
            "Gather" => self.gather(),
            "GatherElements" => self.shape(1),
            "Expand" => self.expand(),
            "Tile" => self.per_axis(dim_op::MUL),
            "Pad" => self.pad(),
            "Constant" => {
                self.node.constant().map(|t| t.shape().iter().map(|n| Dim::Const(*n as i64)).collect())
            }
            "ConstantOfShape" => self.input(0).and_then(|value| self.graph.known_dims(value)),
            "Range" => Some(vec![Dim::Unknown]),
            "ArgMax" | "ArgMin" => {
                let axis = self.node.int("axis").unwrap_or(0);
                self.reduce(Some(vec![axis]))
            }
            _ if SAME.contains(&op) => self.shape(0),
            _ if [BROADCAST, COMPARE].iter().any(|list| list.contains(&op)) => {
                self.broadcast(0..self.node.inputs.len())
            }
            _ if REDUCE.contains(&op) => {
                let axes = if self.input(1).is_some() { self.ints(1) } else { Some(Vec::new()) };
                self.reduce(axes)
            }
            _ => None,
        };
        vec![shape]
    }

    fn broadcast(&self, inputs: std::ops::Range<usize>) -> Shape {
        let shapes = inputs.map(|index| self.shape(index)).collect::<Option<Vec<_>>>()?;
        let mut result: Vec<Dim> = Vec::new();
        for shape in &shapes {
            result = broadcast(&result, shape);
        }
        Some(result)
    }

    fn matmul(&self) -> Shape {
        let (a, b) = (self.shape(0)?, self.shape(1)?);
        // All axes but the last of `a`, which is summed over; of `b` all but the last but one.
        let (_, left) = a.split_last()?;
        let (rows, batch_a) = left.split_last().map_or((None, left), |(m, batch)| (Some(*m), batch));
        let (columns, batch_b) = match b.as_slice() {
            [] => return None,
            [_] => (None, &[][..]),
            [batch @ .., _, n] => (Some(*n), batch),
        };
        Some(broadcast(batch_a, batch_b).into_iter().chain(rows).chain(columns).collect())
    }

    fn gemm(&self) -> Shape {
        let (a, b) = (self.shape(0)?, self.shape(1)?);
        let side = |name: &str, plain: usize| if self.node.int(name) == Some(1) { 1 - plain } else { plain };
        Some(vec![*a.get(side("transA", 0))?, *b.get(side("transB", 1))?])
    }

    /// The extents that `Shape` gives, with its `start` and `end`.
    fn shape_range(&self) -> Option<Vec<Dim>> {
        let shape = self.shape(0)?;
        let rank = shape.len() as i64;
        let clamp = |n: i64| (if n < 0 { n + rank } else { n }).clamp(0, rank) as usize;
        let (start, end) =
            (clamp(self.node.int("start").unwrap_or(0)), clamp(self.node.int("end").unwrap_or(rank)));
        Some(shape.get(start..end.max(start))?.to_vec())
    }

    fn reshape(&mut self) -> Shape {
        let from = self.shape(0);
        let target = self.graph.known_dims(self.input(1)?)?;
        let keep = self.node.int("allowzero") != Some(1);
        let mut dims = Vec::new();
        for (axis, dim) in target.iter().enumerate() {
            dims.push(match dim {
                Dim::Const(0) if keep => {
                    from.as_ref().and_then(|f| f.get(axis)).copied().unwrap_or(Dim::Unknown)
                }
                other => *other,
            });
        }
        if let Some(open) = dims.iter().position(|d| d.is(-1)) {
            dims[open] = Dim::Const(1);
            let (mut total, mut rest) = (Dim::Const(1), Dim::Const(1));
            for dim in from.unwrap_or_else(|| vec![Dim::Unknown]) {
                total = self.symbols.apply(dim_op::MUL, total, dim);
            }
            for dim in &dims {
                rest = self.symbols.apply(dim_op::MUL, rest, *dim);
            }
            dims[open] = self.symbols.apply(dim_op::FLOOR_DIV, total, rest);
        }
        Some(dims)
    }

    fn transpose(&self) -> Shape {
        let shape = self.shape(0)?;
        match self.node.ints("perm") {
            None => Some(shape.into_iter().rev().collect()),
            Some(perm) => perm.iter().map(|axis| shape.get(*axis as usize).copied()).collect(),
        }
    }

    fn unsqueeze(&self) -> Shape {
        let (shape, axes) = (self.shape(0)?, self.ints(1)?);
        let rank = shape.len() + axes.len();
        let axes = axes.iter().map(|a| axis(*a, rank)).collect::<Option<Vec<_>>>()?;
        let mut rest = shape.into_iter();
        (0..rank).map(|axis| if axes.contains(&axis) { Some(Dim::Const(1)) } else { rest.next() }).collect()
    }

    fn squeeze(&self) -> Shape {
        let shape = self.shape(0)?;
        let axes = match self.input(1) {
            Some(_) => self.ints(1)?.iter().map(|a| axis(*a, shape.len())).collect::<Option<Vec<_>>>()?,
            None if shape.contains(&Dim::Unknown) => return None,
            None => (0..shape.len()).filter(|axis| shape[*axis].is(1)).collect(),
        };
        Some(shape.into_iter().enumerate().filter(|(i, _)| !axes.contains(i)).map(|(_, d)| d).collect())
    }

    fn flatten(&mut self) -> Shape {
        let shape = self.shape(0)?;
        let axis = self.node.int("axis").unwrap_or(1);
        let axis = if axis < 0 { axis + shape.len() as i64 } else { axis } as usize;
        let (mut left, mut right) = (Dim::Const(1), Dim::Const(1));
        for (index, dim) in shape.iter().enumerate() {
            let side = if index < axis { &mut left } else { &mut right };
            *side = self.symbols.apply(dim_op::MUL, *side, *dim);
        }
        Some(vec![left, right])
    }

    fn concat(&mut self) -> Shape {
        let mut result = self.shape(0)?;
        let axis = axis(self.node.int("axis")?, result.len())?;
        for index in 1..self.node.inputs.len() {
            let extent = *self.shape(index)?.get(axis)?;
            result[axis] = self.symbols.apply(dim_op::ADD, result[axis], extent);
        }
        Some(result)
    }

    fn slice(&mut self) -> Shape {
        let mut shape = self.shape(0)?;
        let axes = match self.input(3) {
            Some(_) => self.ints(3)?.iter().map(|a| axis(*a, shape.len())).collect::<Option<Vec<_>>>()?,
            None => match self.shape(1)?.first()? {
                Dim::Const(n) => (0..*n as usize).collect(),
                _ => return None,
            },
        };
        let known = |index: usize| self.input(index).and_then(|value| self.graph.known_dims(value));
        let (starts, ends) = (known(1), known(2));
        let steps = if self.input(4).is_some() { self.ints(4) } else { Some(vec![1; axes.len()]) };
        for (index, axis) in axes.into_iter().enumerate() {
            let bound = |list: &Option<Vec<Dim>>| list.as_ref().and_then(|l| l.get(index)).copied();
            let step = steps.as_ref().and_then(|s| s.get(index)).copied();
            let extent = shape.get_mut(axis)?;
            *extent = match (bound(&starts), bound(&ends), step, *extent) {
                (Some(Dim::Const(s)), Some(Dim::Const(e)), Some(step), Dim::Const(n)) if step != 0 => {
                    Dim::Const(super::eval::slice_range(s, e, step, n).count() as i64)
                }
                (Some(Dim::Const(0)), Some(Dim::Const(i64::MAX)), Some(1), extent) => extent,
                _ => Dim::Unknown,
            };
        }
        Some(shape)
    }

    fn split(&mut self) -> Option<Vec<Shape>> {
        let shape = self.shape(0)?;
        let axis = axis(self.node.int("axis").unwrap_or(0), shape.len())?;
        let count = self.node.outputs.len();
        let sizes: Vec<Dim> = match (self.ints(1), shape[axis]) {
            (Some(sizes), _) => sizes.into_iter().map(Dim::Const).collect(),
            (None, Dim::Const(n)) if self.input(1).is_none() => {
                let size = (n as usize).div_ceil(count.max(1)) as i64;
                (0..count as i64).map(|i| Dim::Const((n - i * size).clamp(0, size))).collect()
            }
            _ => vec![Dim::Unknown; count],
        };
        let with = |size| {
            let mut shape = shape.clone();
            shape[axis] = size;
            Some(shape)
        };
        Some(sizes.into_iter().map(with).collect())
    }

    fn gather(&self) -> Shape {
        let (shape, indices) = (self.shape(0)?, self.shape(1)?);
        let axis = axis(self.node.int("axis").unwrap_or(0), shape.len())?;
        Some([&shape[..axis], &indices, &shape[axis + 1..]].concat())
    }

    fn expand(&self) -> Shape {
        let target = self.graph.known_dims(self.input(1)?)?;
        Some(broadcast(&self.shape(0)?, &target))
    }

    /// Each extent combined with the number of the second input.
    fn per_axis(&mut self, op: u32) -> Shape {
        let (shape, numbers) = (self.shape(0)?, self.graph.known_dims(self.input(1)?)?);
        Some(shape.iter().zip(numbers).map(|(dim, n)| self.symbols.apply(op, *dim, n)).collect())
    }

    fn pad(&mut self) -> Shape {
        let (mut shape, pads) = (self.shape(0)?, self.ints(1)?);
        let axes = if self.input(3).is_some() { self.ints(3)? } else { (0..shape.len() as i64).collect() };
        for (place, listed) in axes.iter().enumerate() {
            let axis = axis(*listed, shape.len())?;
            let more = Dim::Const(pads.get(place)? + pads.get(place + axes.len())?);
            shape[axis] = self.symbols.apply(dim_op::ADD, shape[axis], more);
        }
        Some(shape)
    }

    fn reduce(&self, axes: Option<Vec<i64>>) -> Shape {
        let shape = self.shape(0)?;
        let axes = axes?.iter().map(|a| axis(*a, shape.len())).collect::<Option<Vec<_>>>()?;
        let keep = self.node.int("keepdims").unwrap_or(1) == 1;
        if axes.is_empty() && self.node.int("noop_with_empty_axes") == Some(1) {
            return Some(shape);
        }
        let gone = |axis: &usize| axes.is_empty() || axes.contains(axis);
        let dims = shape.into_iter().enumerate();
        let dims = dims.filter_map(|(axis, dim)| match (gone(&axis), keep) {
            (false, _) => Some(dim),
            (true, true) => Some(Dim::Const(1)),
            (true, false) => None,
        });
        Some(dims.collect())
    }

    /// The elements of a vector of integers.
    fn contents(&mut self) -> Option<Vec<Dim>> {
        let known = |index: usize| self.input(index).and_then(|value| self.graph.known_dims(value));
        match self.node.op.as_str() {
            "Shape" => self.shape_range(),
            "Identity" => known(0),
            "Concat" => {
                let parts = (0..self.node.inputs.len()).map(known).collect::<Option<Vec<_>>>()?;
                (self.dtype_of(0) == Some(DType::I64)).then(|| parts.concat())
            }
            "Add" | "Sub" | "Mul" => {
                let (a, b) = (known(0)?, known(1)?);
                let op = match self.node.op.as_str() {
                    "Add" => dim_op::ADD,
                    "Sub" => dim_op::SUB,
                    _ => dim_op::MUL,
                };
                let count = if a.len() == 1 { b.len() } else { a.len() };
                if b.len() != 1 && b.len() != count {
                    return None;
                }
                let item = |list: &[Dim], index: usize| list[if list.len() == 1 { 0 } else { index }];
                Some((0..count).map(|i| self.symbols.apply(op, item(&a, i), item(&b, i))).collect())
            }
            _ => None,
        }
    }
}

/// The extents of two shapes that broadcast; an extent that is not known may be 1.
fn broadcast(a: &[Dim], b: &[Dim]) -> Vec<Dim> {
    let rank = a.len().max(b.len());
    let at = |shape: &[Dim], axis: usize| {
        (axis + shape.len()).checked_sub(rank).map_or(Dim::Const(1), |index| shape[index])
    };
    (0..rank)
        .map(|axis| match (at(a, axis), at(b, axis)) {
            (a, b) if a == b => a,
            (Dim::Const(1), other) | (other, Dim::Const(1)) => other,
            (Dim::Const(n), _) | (_, Dim::Const(n)) => Dim::Const(n),
            _ => Dim::Unknown,
        })
        .collect()
}

/// `axis` counted from the front; `None` when it is out of range.
fn axis(axis: i64, rank: usize) -> Option<usize> {
    super::eval::axis(axis, rank).ok()
}
