//! Nodes that are views of weights, or arithmetic on them.

use super::reduce::{self, Reduction};
use crate::ir::{Attr, Graph, Node, Shape, ValueId};
use crate::op;
use crate::ops::{Tensor, Traits, traits};
use crate::tensor::{Binary, DType, LazyTensor, Transform, Unary};

/// The number of pieces up to which a weight is read as fast as a single one.
const PIECES: usize = 64;

/// Returns the outputs of `node` for `inputs`; `None` if there is no formula for them.
pub(super) fn of(
    graph: &Graph,
    opset: i64,
    node: &Node,
    inputs: &[Option<LazyTensor>],
) -> Option<Vec<LazyTensor>> {
    let attributes = node.at(opset);
    let axis = || place(attributes.int("axis")?, inputs.first()?.as_ref()?.shape.len());
    let first = inputs.first()?.as_ref()?;
    let ints = |at: usize| inputs.get(at)?.as_ref().and_then(ints);
    let shape = |at: usize| shape(graph, (*node.outputs.get(at)?)?);
    let binary = |operator| match inputs {
        [Some(a), Some(b)] if is_float(a.dtype) => a.binary(operator, b),
        _ => None,
    };
    let unary = |operator| is_float(first.dtype).then(|| first.then(Transform::Unary(operator))).flatten();
    let keep = || attributes.flag("keepdims");
    let one = match node.op.as_str() {
        op::Add => binary(Binary::Add),
        op::Sub => binary(Binary::Sub),
        op::Mul => binary(Binary::Mul),
        op::Div => binary(Binary::Div),
        op::Neg => unary(Unary::Neg),
        op::Sqrt => unary(Unary::Sqrt),
        op::Reciprocal => unary(Unary::Reciprocal),
        op::Cast => cast(node, first),
        op::Transpose => transposed(node, first),
        op::Expand => first.expand(&shape(0)?),
        op::Slice => sliced(first, [ints(1), ints(2), ints(3), ints(4)], inputs.len()),
        op::Gather => gathered(first, axis()?, inputs.get(1)?.as_ref()?),
        op::Concat => {
            let all: Option<Vec<LazyTensor>> = inputs.iter().cloned().collect();
            LazyTensor::concat(&all?, axis()?)
        }
        op::Split => {
            return split(first, axis()?, (0..node.outputs.len()).map(shape).collect::<Option<_>>()?);
        }
        op::ReduceMean => reduced(node, keep()?, first, inputs, Reduction::Mean),
        op::ReduceSum => reduced(node, keep()?, first, inputs, Reduction::Sum),
        op::ReduceL2 => reduced(node, keep()?, first, inputs, Reduction::L2),
        _ if traits(node).has(Traits::RESHAPES) => first.reshape(&shape(0)?),
        _ => None,
    };
    one.map(|made| vec![made])
}

/// The types of floats with arithmetic.
pub(super) fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
}

/// The elements of a small tensor of integers.
fn ints(data: &LazyTensor) -> Option<Vec<i64>> {
    if data.byte_len()? > 1 << 16 || !matches!(data.dtype, DType::I32 | DType::I64) {
        return None;
    }
    let elements = Tensor::read(data).ok()?.ints().ok()?;
    elements.into_iter().map(|n| i64::try_from(n).ok()).collect()
}

/// The sizes of a value, where all are known.
fn shape(graph: &Graph, value: ValueId) -> Option<Vec<u64>> {
    let dims = graph.values[value].ty.shape().and_then(Shape::dims)?;
    dims.iter().map(|dim| u64::try_from((*dim)?.as_const()?).ok()).collect()
}

/// An axis of `rank`, counted from either end.
fn place(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
    usize::try_from(axis).ok().filter(|axis| *axis < rank)
}

/// In another type of float; others may not be exact.
fn cast(node: &Node, data: &LazyTensor) -> Option<LazyTensor> {
    let Some(Attr::Int(to)) = node.attr("to") else { return None };
    let to = i32::try_from(*to).ok().and_then(DType::from_onnx).filter(|to| is_float(*to))?;
    if data.dtype == to {
        return Some(data.clone());
    }
    is_float(data.dtype).then(|| data.then(Transform::Cast(to))).flatten()
}

fn transposed(node: &Node, data: &LazyTensor) -> Option<LazyTensor> {
    let rank = data.shape.len();
    let axes: Vec<usize> = match node.attr("perm") {
        Some(Attr::Ints(axes)) => {
            axes.iter().map(|axis| usize::try_from(*axis).ok()).collect::<Option<_>>()?
        }
        Some(_) => return None,
        None => (0..rank).rev().collect(),
    };
    data.permute(&axes)
}

/// `data` between starts and ends along axes, in steps; of four inputs, those that were not given are missing.
fn sliced(data: &LazyTensor, given: [Option<Vec<i64>>; 4], inputs: usize) -> Option<LazyTensor> {
    let rank = data.shape.len();
    let [starts, ends, axes, steps] = given;
    let (starts, ends) = (starts?, ends?);
    let all = || (0..starts.len() as i64).collect();
    let axes: Vec<i64> = if inputs > 3 { axes.unwrap_or_else(all) } else { all() };
    let steps = if inputs > 4 { steps? } else { vec![1; starts.len()] };
    if ends.len() != starts.len() || axes.len() != starts.len() || steps.len() != starts.len() {
        return None;
    }
    let mut made = data.clone();
    for (((start, end), axis), step) in starts.iter().zip(ends).zip(axes).zip(steps) {
        let axis = place(axis, rank)?;
        let extent = i64::try_from(*made.shape.get(axis)?).ok()?;
        let at = |place: i64| (if place < 0 { place.saturating_add(extent) } else { place }).clamp(0, extent);
        let (start, end) = (at(*start), at(end));
        let step = u64::try_from(step).ok().filter(|step| *step > 0)?;
        made = made.slice(axis, u64::try_from(start).ok()?, u64::try_from(end.max(start)).ok()?, step)?;
    }
    Some(made)
}

/// `data` in parts of these shapes.
fn split(data: &LazyTensor, axis: usize, shapes: Vec<Vec<u64>>) -> Option<Vec<LazyTensor>> {
    let mut start = 0u64;
    let mut parts = Vec::with_capacity(shapes.len());
    for shape in shapes {
        let end = start.checked_add(*shape.get(axis)?)?;
        parts.push(data.slice(axis, start, end, 1)?);
        start = end;
    }
    (Some(&start) == data.shape.get(axis)).then_some(parts)
}

/// Places of `data` along an axis, as few runs of neighbours.
fn gathered(data: &LazyTensor, axis: usize, indices: &LazyTensor) -> Option<LazyTensor> {
    let extent = i64::try_from(*data.shape.get(axis)?).ok()?;
    let places = ints(indices)?;
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for place in places {
        let place = if place < 0 { place.checked_add(extent)? } else { place };
        if !(0..extent).contains(&place) {
            return None;
        }
        match runs.last_mut() {
            Some((_, end)) if *end == place => *end += 1,
            _ => runs.push((place, place + 1)),
        }
    }
    if runs.is_empty() || runs.len() > PIECES {
        return None;
    }
    let part = |(start, end): &(i64, i64)| {
        data.slice(axis, u64::try_from(*start).ok()?, u64::try_from(*end).ok()?, 1)
    };
    let parts: Vec<LazyTensor> = runs.iter().map(part).collect::<Option<_>>()?;
    let joined = match parts.as_slice() {
        [one] => one.clone(),
        parts => LazyTensor::concat(parts, axis)?,
    };
    let shape = [data.shape.get(..axis)?, &indices.shape, data.shape.get(axis + 1..)?].concat();
    joined.reshape(&shape)
}

/// `data` reduced along the axes that the node states or is given.
fn reduced(
    node: &Node,
    keep: bool,
    data: &LazyTensor,
    inputs: &[Option<LazyTensor>],
    reduction: Reduction,
) -> Option<LazyTensor> {
    let rank = data.shape.len();
    let axes = match (node.attr("axes"), inputs.get(1)) {
        (Some(Attr::Ints(axes)), None) => axes.clone(),
        (None, Some(Some(axes))) => ints(axes)?,
        _ => return None,
    };
    let axes: Vec<usize> = axes.into_iter().map(|axis| place(axis, rank)).collect::<Option<_>>()?;
    if axes.is_empty() || !is_float(data.dtype) {
        return None;
    }
    reduce::along(data, &axes, keep, reduction)
}
