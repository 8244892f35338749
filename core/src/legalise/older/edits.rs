//! Edits of operands and attributes that older versions of an operator take in another way.

use super::super::edit::cast;
use crate::ir::opset::MIN_OPSET;
use crate::ir::{Attr, Attribute, Graph, NodeId, ValueId};
use crate::op;
use crate::ops::infer::infer;
use crate::sym::{Dim, Symbols};
use crate::tensor::{DType, LazyTensor};

/// Changes a node; `None` where it stays as it is. Returns nodes that it adds.
type Edit = fn(&mut At<'_>) -> Option<Vec<NodeId>>;

/// The edits by operator, each with the opset from which on it is not needed.
const EDITS: &[(&str, i64, Edit)] = &[
    (op::CastLike, 15, cast_like),
    (op::Clip, 12, clip_without_least),
    (op::Constant, 12, constant_tensor),
    (op::Dropout, 12, without_ratio),
    (op::Hardmax, 13, last_axis),
    (op::LayerNormalization, 17, negative_axis),
    (op::Softmax, 13, last_axis),
    (op::LogSoftmax, 13, last_axis),
    (op::Max, 12, pairs),
    (op::Min, 12, pairs),
    (op::Pad, 18, pads_of_every_axis),
    (op::Pow, 12, exponent_like_base),
    (op::ReduceL1, 18, axes_to_attribute),
    (op::ReduceL2, 18, axes_to_attribute),
    (op::ReduceLogSum, 18, axes_to_attribute),
    (op::ReduceLogSumExp, 18, axes_to_attribute),
    (op::ReduceMax, 18, axes_to_attribute),
    (op::ReduceMean, 18, axes_to_attribute),
    (op::ReduceMin, 18, axes_to_attribute),
    (op::ReduceProd, 18, axes_to_attribute),
    (op::ReduceSum, 13, axes_to_attribute),
    (op::ReduceSumSquare, 18, axes_to_attribute),
    (op::Reshape, 14, no_zeros),
    (op::Resize, 18, sizes_of_every_axis),
    (op::Resize, 13, empty_operands),
    (op::RoiAlign, 16, continuous_boxes),
    (op::Split, 18, split_sizes),
    (op::Split, 13, split_to_attribute),
    (op::Squeeze, 13, axes_to_attribute),
    (op::Unsqueeze, 13, axes_to_attribute),
];

/// A node in its graph.
struct At<'a> {
    graph: &'a mut Graph,
    symbols: &'a mut Symbols,
    node: NodeId,
}

/// Changes `node` as an older opset needs it; returns added nodes, which are of [`MIN_OPSET`].
pub(super) fn apply(graph: &mut Graph, symbols: &mut Symbols, opset: i64, node: NodeId) -> Vec<NodeId> {
    let mut added = Vec::new();
    for (operator, below, edit) in EDITS {
        let here = graph.nodes[node].block.is_some() && graph.nodes[node].op == *operator;
        if here && opset < *below {
            added.extend(edit(&mut At { graph, symbols, node }).unwrap_or_default());
        }
    }
    added
}

impl At<'_> {
    fn input(&self, index: usize) -> Option<ValueId> {
        self.graph.nodes[self.node].inputs.get(index).copied().flatten()
    }

    /// The integers that input `index` is in every run.
    fn ints(&self, index: usize) -> Option<Vec<i64>> {
        self.graph.shape_value(self.input(index)?)?.iter().map(|dim| dim.as_const()).collect()
    }

    fn dims(&self, index: usize) -> Option<Vec<Option<Dim>>> {
        Some(self.graph.values[self.input(index)?].ty.shape()?.dims()?.to_vec())
    }

    fn dtype(&self, index: usize) -> Option<DType> {
        self.graph.values[self.input(index)?].ty.dtype()
    }

    /// An attribute of the node, or its default.
    fn int(&self, name: &str) -> Option<i64> {
        self.graph.nodes[self.node].at(MIN_OPSET).int(name)
    }

    fn set(&mut self, name: &str, value: Attr) {
        self.unset(name);
        let attributes = &mut self.graph.nodes[self.node].attributes;
        attributes.push(Attribute { name: name.into(), value });
        attributes.sort_by(|a, b| a.name.cmp(&b.name));
    }

    fn unset(&mut self, name: &str) {
        self.graph.nodes[self.node].attributes.retain(|attribute| attribute.name != name);
    }

    /// Leaves out the inputs from `count` on.
    fn cut(&mut self, count: usize) {
        self.graph.cut_inputs(self.node, count);
    }

    fn number(&mut self, shape: Vec<u64>, numbers: &[i64]) -> ValueId {
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.graph.add_initializer(None, LazyTensor::inline(DType::I64, shape, bytes))
    }

    fn vector(&mut self, numbers: &[i64]) -> ValueId {
        self.number(vec![numbers.len() as u64], numbers)
    }

    /// A node in front of this one.
    fn add(&mut self, op: &str, inputs: &[ValueId], attributes: Vec<Attribute>) -> Option<(NodeId, ValueId)> {
        let data = &self.graph.nodes[self.node];
        let (block, origin) = (data.block.unwrap_or(self.graph.main()), data.origin);
        let inputs = inputs.iter().copied().map(Some);
        let made = self.graph.append(block, "", op, inputs, attributes, 1, origin);
        self.graph.move_before(made, self.node);
        infer(self.graph, self.symbols, MIN_OPSET, made);
        let output = self.graph.nodes[made].outputs.first().copied().flatten()?;
        Some((made, output))
    }
}

/// The axes, which are constant, become an attribute.
fn axes_to_attribute(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    let axes = match at.input(1) {
        Some(_) => at.ints(1)?,
        None => Vec::new(),
    };
    // An empty list of axes squeezes none, and no list squeezes all of size 1.
    if axes.is_empty() && at.input(1).is_some() && at.graph.nodes[at.node].op == op::Squeeze {
        return None;
    }
    if !axes.is_empty() {
        at.set("axes", Attr::Ints(axes));
        at.unset("noop_with_empty_axes");
    } else if at.graph.nodes[at.node].at(MIN_OPSET).flag("noop_with_empty_axes")? {
        return None;
    }
    at.cut(1);
    None
}

/// The number of parts becomes their sizes, unless they are equal.
fn split_sizes(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    let parts = at.graph.nodes[at.node].int("num_outputs").filter(|parts| *parts > 0)?;
    let dims = at.dims(0)?;
    let axis = position(at.int("axis")?, dims.len())?;
    let extent = dims.get(axis)?.as_ref()?.as_const()?;
    at.unset("num_outputs");
    if extent % parts != 0 {
        let size = extent / parts + 1;
        let sizes: Vec<i64> = (0..parts).map(|part| (extent - part * size).clamp(0, size)).collect();
        let sizes = at.vector(&sizes);
        at.cut(1);
        at.graph.push_input(at.node, sizes);
    }
    None
}

/// The sizes, which are constant, become an attribute.
fn split_to_attribute(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    at.input(1)?;
    let sizes = at.ints(1)?;
    at.set("split", Attr::Ints(sizes));
    at.cut(1);
    None
}

fn position(axis: i64, rank: usize) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    usize::try_from(if axis < 0 { axis + rank } else { axis }).ok().filter(|axis| (*axis as i64) < rank)
}

/// The pads of the axes that the node names become those of all axes.
fn pads_of_every_axis(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    if at.input(3).is_some() {
        let (axes, pads, rank) = (at.ints(3)?, at.ints(1)?, at.dims(0)?.len());
        let mut all = vec![0; rank * 2];
        for (index, axis) in axes.iter().enumerate() {
            let axis = position(*axis, rank)?;
            *all.get_mut(axis)? = *pads.get(index)?;
            *all.get_mut(rank + axis)? = *pads.get(axes.len() + index)?;
        }
        let all = at.vector(&all);
        at.graph.set_input(at.node, 1, Some(all));
    }
    at.cut(if at.input(2).is_some() { 3 } else { 2 });
    None
}

/// Scales or sizes of the axes that the node names become those of all axes.
fn sizes_of_every_axis(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    let axes = at.graph.nodes[at.node].ints("axes")?.to_vec();
    let rank = at.dims(0)?.len();
    let axes: Vec<usize> = axes.iter().map(|axis| position(*axis, rank)).collect::<Option<_>>()?;
    let first = *axes.first()?;
    // Only the last axes, in order: the others are in front of them.
    let last = axes.iter().copied().eq(first..rank);
    let fits =
        last && at.input(1).is_none() && at.graph.nodes[at.node].at(MIN_OPSET).int("antialias") == Some(0);
    if !fits {
        return None;
    }
    let axis = || vec![Attribute { name: "axis".into(), value: Attr::Int(0) }];
    let mut added = Vec::new();
    if let Some(scales) = at.input(2) {
        let ones = vec![1f32; first].into_iter().flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
        let ones = at.graph.add_initializer(None, LazyTensor::inline(DType::F32, vec![first as u64], ones));
        let (node, all) = at.add(op::Concat, &[ones, scales], axis())?;
        added.push(node);
        at.graph.set_input(at.node, 2, Some(all));
    } else {
        let (x, sizes) = (at.input(0)?, at.input(3)?);
        let (start, end) = (at.vector(&[0]), at.vector(&[first as i64]));
        let (shape_of, shape) = at.add(op::Shape, &[x], Vec::new())?;
        let (slice, front) = at.add(op::Slice, &[shape, start, end], Vec::new())?;
        let (concat, all) = at.add(op::Concat, &[front, sizes], axis())?;
        added.extend([shape_of, slice, concat]);
        at.graph.set_input(at.node, 3, Some(all));
    }
    at.unset("axes");
    Some(added)
}

/// Operands that could not be left out yet are empty.
fn empty_operands(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    for index in [1, 2] {
        if at.input(index).is_none() && at.graph.nodes[at.node].inputs.len() > index {
            let none = at.graph.add_initializer(None, LazyTensor::inline(DType::F32, vec![0], Vec::new()));
            at.graph.set_input(at.node, index, Some(none));
        }
    }
    None
}

/// `coordinate_transformation_mode = output_half_pixel` is how the operator worked; the default is not.
fn continuous_boxes(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    let name = "coordinate_transformation_mode";
    let before = at.graph.nodes[at.node].at(MIN_OPSET).text(name) == Some("output_half_pixel");
    if before {
        at.unset(name);
    } else {
        at.set(name, Attr::Str("half_pixel".to_owned()));
    }
    None
}

/// The last axis is the only one that all versions treat alike.
fn last_axis(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    let (axis, rank) = (at.int("axis")?, at.dims(0)?.len());
    if position(axis, rank)? + 1 == rank {
        at.set("axis", Attr::Int(-1));
    }
    None
}

/// The axis counts from the end.
fn negative_axis(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    let (axis, rank) = (at.int("axis")?, at.dims(0)?.len());
    let axis = position(axis, rank)?;
    at.set("axis", Attr::Int(axis as i64 - rank as i64));
    None
}

/// A `Cast` to the type that the value has.
fn cast_like(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    let (value, to) = (at.input(0)?, at.dtype(1)?);
    let output = at.graph.nodes[at.node].outputs.first().copied().flatten()?;
    if at.dtype(0) != Some(to) && !at.graph.is_returned(output) {
        let made = cast(at.graph, at.node, value, to);
        at.graph.replace_uses(output, made);
        at.graph.remove(at.node);
        return None;
    }
    at.cut(1);
    at.set("to", Attr::Int(i64::from(to.onnx())));
    at.graph.nodes[at.node].op = op::Cast.into();
    None
}

/// Numbers in attributes become a tensor.
fn constant_tensor(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    let ints = |shape, all: &[i64]| {
        LazyTensor::inline(DType::I64, shape, all.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>())
    };
    let floats = |shape, all: &[f32]| {
        LazyTensor::inline(DType::F32, shape, all.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
    };
    let tensor = match &at.graph.nodes[at.node].attributes.first()?.value {
        Attr::Int(n) => ints(Vec::new(), &[*n]),
        Attr::Ints(all) => ints(vec![all.len() as u64], all),
        Attr::Float(x) => floats(Vec::new(), &[*x]),
        Attr::Floats(all) => floats(vec![all.len() as u64], all),
        _ => return None,
    };
    let attributes = &mut at.graph.nodes[at.node].attributes;
    *attributes = vec![Attribute { name: "value".into(), value: Attr::Tensor(tensor) }];
    None
}

/// Outside of training, neither the ratio nor the seed has an effect.
fn without_ratio(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    let read = |at: &At<'_>, index| at.graph.initializer(at.input(index)?)?.read().map(|data| data.to_vec());
    let training = at.input(2).is_some() && read(at, 2)?.iter().any(|byte| *byte != 0);
    if training {
        return None;
    }
    at.unset("seed");
    at.cut(1);
    None
}

/// A shape without zeros means the same with `allowzero` and without.
fn no_zeros(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    let shape = at.graph.shape_value(at.input(1)?)?;
    let positive = |dim: &Dim| match dim {
        Dim::Const(n) => *n != 0,
        Dim::Expr(_) => at.symbols.range(*dim).min.is_some_and(|least| least > 0),
    };
    if shape.iter().all(positive) {
        at.unset("allowzero");
    }
    None
}

/// Both operands are of one type.
fn exponent_like_base(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    let (base, exponent) = (at.dtype(0)?, at.dtype(1)?);
    if base.is_float() && base != exponent {
        let value = at.input(1)?;
        let made = cast(at.graph, at.node, value, base);
        at.graph.set_input(at.node, 1, Some(made));
    }
    None
}

/// Without a minimum, it is `Min`.
fn clip_without_least(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    let most = at.input(2)?;
    if at.input(1).is_none() && !at.dtype(0)?.is_float() {
        at.graph.set_input(at.node, 1, Some(most));
        at.cut(2);
        at.graph.nodes[at.node].op = op::Min.into();
    }
    None
}

/// Integer operands are combined two at a time, since the forms take two.
fn pairs(at: &mut At<'_>) -> Option<Vec<NodeId>> {
    if at.dtype(0)?.is_float() {
        return None;
    }
    let (op, mut added) = (at.graph.nodes[at.node].op.clone(), Vec::new());
    while at.graph.nodes[at.node].inputs.len() > 2 {
        let (first, second) = (at.input(0)?, at.input(1)?);
        let (node, both) = at.add(&op, &[first, second], Vec::new())?;
        added.push(node);
        let rest: Vec<_> = at.graph.nodes[at.node].inputs.iter().skip(2).copied().collect();
        at.graph.set_input(at.node, 0, Some(both));
        for (index, value) in rest.iter().enumerate() {
            at.graph.set_input(at.node, index + 1, *value);
        }
        at.cut(rest.len() + 1);
    }
    Some(added)
}
