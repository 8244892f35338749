//! What operators do about axes.

use crate::ir::{Attr, Graph, Node, NodeId, ValueId};
use crate::sym::Dim;

/// What has to change of a node for operands that are turned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing: it combines elements at equal places.
    Pointwise,
    /// Nothing: it treats each element of its first input alone; the other inputs are numbers for all.
    Alone,
    /// The attribute `axis`, which is this.
    Axis(usize),
    /// Its list of axes, which is this: an attribute, or an input.
    Axes(Vec<usize>, Option<usize>),
    /// The order of elements of inputs with one for each axis, so many times.
    Lists(Vec<(usize, usize)>),
    /// The same of a reduction whose result has no axis that is turned: it takes either layout.
    Absorbs(Vec<usize>, Option<usize>),
}

const POINTWISE: [&str; 24] = [
    "Add",
    "And",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "BitShift",
    "Div",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Max",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "Or",
    "PRelu",
    "Pow",
    "Sub",
    "Sum",
    "Where",
    "Xor",
];

const ALONE: [&str; 42] = [
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BitwiseNot",
    "Cast",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "IsInf",
    "IsNaN",
    "LeakyRelu",
    "Log",
    "Mish",
    "Neg",
    "Not",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Tanh",
];

/// Reductions that are exact in every order.
const EXACT: [&str; 2] = ["ReduceMax", "ReduceMin"];

const SUMS: [&str; 8] = [
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMean",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
];

impl Kind {
    /// What `id` does about the axes of operands of `rank`; `None` where that is not known, or where it asks for a layout.
    /// `sums`: whether elements may be added in another order.
    pub(super) fn of(graph: &Graph, id: NodeId, perm: &[usize], sums: bool) -> Option<Kind> {
        let (node, rank) = (&graph.nodes[id], perm.len());
        if !node.domain.is_empty() {
            return None;
        }
        let op = node.op.as_str();
        let has_rank =
            |value: Option<ValueId>| value.is_some_and(|value| rank_of(graph, value) == Some(rank));
        if !has_rank(node.inputs.first().copied().flatten()) && !POINTWISE.contains(&op) {
            return None;
        }
        let kind = match op {
            _ if ALONE.contains(&op)
                && node.inputs.iter().skip(1).flatten().all(|v| is_single(graph, *v)) =>
            {
                Kind::Alone
            }
            _ if POINTWISE.contains(&op)
                && node
                    .inputs
                    .iter()
                    .all(|v| v.is_some_and(|v| rank_of(graph, v).is_some_and(|r| r <= rank))) =>
            {
                Kind::Pointwise
            }
            "QuantizeLinear" | "DequantizeLinear"
                if node.inputs.iter().skip(1).flatten().all(|v| rank_of(graph, *v) == Some(0)) =>
            {
                Kind::Alone
            }
            "Concat" => Kind::Axis(axis(node.int("axis")?, rank)?),
            "Split" => Kind::Axis(axis(node.int("axis").unwrap_or(0), rank)?),
            "Softmax" | "LogSoftmax" | "Hardmax" if sums => {
                Kind::Axis(axis(node.int("axis").unwrap_or(-1), rank)?)
            }
            "ArgMax" | "ArgMin" if node.int("keepdims").unwrap_or(1) == 1 => {
                Kind::Axis(axis(node.int("axis").unwrap_or(0), rank)?)
            }
            "Pad" if node.inputs.get(3).is_none_or(Option::is_none) => {
                Kind::Lists(lists(graph, node, &[(1, 2)], rank)?)
            }
            "Resize"
                if (sums || is_nearest(node))
                    && node.attr("axes").is_none()
                    && node.inputs.get(1).copied().flatten().is_none_or(|roi| is_empty(graph, roi)) =>
            {
                Kind::Lists(lists(graph, node, &[(2, 1), (3, 1)], rank)?)
            }
            "Tile" | "Expand" => Kind::Lists(lists(graph, node, &[(1, 1)], rank)?),
            "Slice" => Kind::Axes(listed(graph, node, Some(3), rank)?, Some(3)),
            _ if EXACT.contains(&op) || sums && SUMS.contains(&op) => {
                let place = node.attr("axes").is_none().then_some(1);
                let axes = listed(graph, node, place, rank)?;
                if node.int("keepdims").unwrap_or(1) == 1 {
                    Kind::Axes(axes, place)
                } else {
                    // What is left keeps its order.
                    let left: Vec<usize> =
                        (0..rank).filter(|axis| !axes.contains(axis)).map(|axis| perm[axis]).collect();
                    if !left.is_sorted() {
                        return None;
                    }
                    return Some(Kind::Absorbs(axes, place));
                }
            }
            _ => return None,
        };
        node.outputs.iter().all(|output| has_rank(*output)).then_some(kind)
    }

    /// Whether input `index` of a node is one that is turned with it.
    pub(super) fn turns(&self, index: usize, op: &str) -> bool {
        match self {
            Kind::Pointwise => true,
            Kind::Axis(_) => index == 0 || op == "Concat",
            _ => index == 0,
        }
    }
}

/// The rank of a value.
pub(super) fn rank_of(graph: &Graph, value: ValueId) -> Option<usize> {
    graph.values[value].ty.shape()?.rank()
}

/// Whether a value is a single element whatever it is broadcast with.
pub(super) fn is_single(graph: &Graph, value: ValueId) -> bool {
    let dims = graph.values[value].ty.shape().and_then(|shape| shape.dims());
    dims.is_some_and(|dims| dims.iter().all(|dim| *dim == Some(Dim::Const(1))))
}

/// Whether a `Resize` computes nothing of its elements; others may do it in another order for another layout.
fn is_nearest(node: &Node) -> bool {
    node.attr("mode").is_none_or(|mode| matches!(mode, Attr::Str(mode) if mode == "nearest"))
}

fn is_empty(graph: &Graph, value: ValueId) -> bool {
    let dims = graph.values[value].ty.shape().and_then(|shape| shape.dims());
    dims.is_some_and(|dims| dims.contains(&Some(Dim::Const(0))))
}

fn axis(axis: i64, rank: usize) -> Option<usize> {
    let counted = if axis < 0 { axis.checked_add(rank as i64)? } else { axis };
    usize::try_from(counted).ok().filter(|axis| *axis < rank)
}

/// The axes that an input or the attribute `axes` lists.
fn listed(graph: &Graph, node: &Node, input: Option<usize>, rank: usize) -> Option<Vec<usize>> {
    let found: Vec<i64> = match input {
        None => node.ints("axes")?.to_vec(),
        Some(index) => {
            let value = node.inputs.get(index).copied().flatten()?;
            graph.shape_value(value)?.into_iter().map(Dim::as_const).collect::<Option<_>>()?
        }
    };
    if found.is_empty() {
        return None;
    }
    found.into_iter().map(|n| axis(n, rank)).collect()
}

/// Those of `places` that a node has, if each of them has an element for each axis, so many times.
fn lists(graph: &Graph, node: &Node, places: &[(usize, usize)], rank: usize) -> Option<Vec<(usize, usize)>> {
    let mut found = Vec::new();
    for (index, times) in places {
        let Some(value) = node.inputs.get(*index).copied().flatten() else { continue };
        match graph.values[value].ty.shape()?.dims()? {
            [Some(Dim::Const(0))] => {}
            [Some(Dim::Const(n))] if *n == (rank * times) as i64 => found.push((*index, *times)),
            _ => return None,
        }
    }
    (!found.is_empty()).then_some(found)
}
