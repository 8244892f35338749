//! Inserts `DequantizeLinear` before the readers of a quantised weight.
//!
//! Codes are stored as `[K, N]` with the blocks along the first axis, and each product directly reads its
//! own `DequantizeLinear`: this is the pattern that runtimes fuse.

use super::edit::{self, Front};
use super::quantise::{Plan, Target};
use super::{Block, lookup};
use crate::ir::{Model, NodeId, ValueId};
use crate::op;
use crate::tensor::LazyTensor;
use crate::tensor::transform::{Bits, Blocks, Part};

/// The initializers of a quantised weight for `DequantizeLinear`.
#[derive(Clone)]
struct Parts {
    codes: LazyTensor,
    scales: LazyTensor,
    zeros: Option<LazyTensor>,
    /// The blocks, along the axis of `codes`.
    blocks: Blocks,
}

/// Inserts `DequantizeLinear` before every reader of the weight. Returns the number of stored bytes, or the
/// reason why the weight stays.
pub(super) fn apply(model: &mut Model, target: &Target, plan: &Plan<'_>) -> Result<u64, &'static str> {
    let Target { data, axis, readers, is_known, .. } = target;
    let is_read = !(readers.products.is_empty() && readers.lookups.is_empty());
    // A weight whose element order is fixed keeps its layout.
    let transposed = if *axis == 0 { Some(data.clone()) } else { data.permute(&[1, 0]) };
    let is_known = *is_known && readers.lookups.iter().all(|node| lookup::is_possible(&model.graph, *node));
    let transposed = transposed.filter(|_| is_known && is_read);
    let is_packed = plan.scheme.bits == Bits::Four && !readers.lookups.is_empty();
    let fills_bytes = transposed
        .as_ref()
        .is_none_or(|transposed| transposed.shape.last().is_some_and(|n| n.is_multiple_of(2)));
    if is_packed && !fills_bytes && !readers.products.is_empty() {
        return Err("rows are looked up, and there is an odd number of them");
    }
    let transposed = transposed.filter(|_| !is_packed || fills_bytes);
    match transposed.and_then(|transposed| Some((parts(&transposed, 0, plan)?, transposed))) {
        Some((parts, transposed)) => by_reader(model, target, plan, parts, &transposed),
        None => at_once(model, target, plan),
    }
}

/// The parts of `data` in blocks along `axis`.
fn parts(data: &LazyTensor, axis: usize, plan: &Plan<'_>) -> Option<Parts> {
    let blocks = Blocks { axis, size: plan.size.min(*data.shape.get(axis)?) };
    let part = |part| {
        let made = data.then(plan.part(blocks, part))?;
        // One scale per output is a vector.
        let flat = matches!((plan.scheme.block, part), (Block::Channel, Part::Scales | Part::ZeroPoints));
        if flat { made.reshape(&[made.elements()?]) } else { Some(made) }
    };
    let (codes, scales) = (part(Part::Codes)?, part(Part::Scales)?);
    let zeros = if plan.scheme.symmetric { None } else { Some(part(Part::ZeroPoints)?) };
    Some(Parts { codes, scales, zeros, blocks })
}

impl Parts {
    fn bytes(&self) -> u64 {
        let all = [Some(&self.codes), Some(&self.scales), self.zeros.as_ref()];
        all.into_iter().flatten().filter_map(LazyTensor::byte_len).sum()
    }

    /// Returns the attributes of `DequantizeLinear` that describe the blocks.
    fn attributes(&self, plan: &Plan<'_>) -> Vec<(&'static str, i64)> {
        let Blocks { axis, size } = self.blocks;
        match plan.scheme.block {
            Block::Size(_) => vec![("axis", axis as i64), ("block_size", size as i64)],
            Block::Channel => vec![("axis", 1 - axis as i64)],
        }
    }

    /// Replaces the weight by the parts.
    fn store(self, model: &mut Model, target: &Target) -> Vec<ValueId> {
        let codes = edit::supplant(&mut model.graph, target.value, self.codes.clone());
        self.with(codes, model, &target.name)
    }

    /// Stores another copy of the parts, with names that begin with `name`.
    fn copy(self, model: &mut Model, name: &str) -> Vec<ValueId> {
        let codes = model.graph.add_initializer(Some(name.into()), self.codes.clone());
        self.with(codes, model, name)
    }

    fn with(self, codes: ValueId, model: &mut Model, name: &str) -> Vec<ValueId> {
        let graph = &mut model.graph;
        let mut stored =
            vec![codes, graph.add_initializer(Some(format!("{name}_scale").into()), self.scales)];
        if let Some(zeros) = self.zeros {
            stored.push(graph.add_initializer(Some(format!("{name}_zero_point").into()), zeros));
        }
        stored
    }
}

/// Emits one operator for all readers, with the codes in the layout of the weight.
fn at_once(model: &mut Model, target: &Target, plan: &Plan<'_>) -> Result<u64, &'static str> {
    let parts = parts(&target.data, target.axis, plan).ok_or("it cannot be cut into blocks")?;
    let (bytes, attributes) = (parts.bytes(), parts.attributes(plan));
    let ty = model.graph.values[target.value].ty.clone();
    let inputs = parts.store(model, target);
    let restored = edit::prepend(&mut model.graph, op::DequantizeLinear, &inputs, &attributes, ty);
    if let Some(restored) = restored {
        model.graph.replace_uses(target.value, restored);
    }
    Ok(bytes)
}

/// Emits one operator for each reader, with the codes as products take them: `[K, N]`. Each reader has its own
/// initializers, since runtimes fuse only operators with a single reader; data files hold the bytes once.
fn by_reader(
    model: &mut Model,
    target: &Target,
    plan: &Plan<'_>,
    parts: Parts,
    transposed: &LazyTensor,
) -> Result<u64, &'static str> {
    let (readers, name) = (&target.readers, &target.name);
    let (bytes, attributes) = (parts.bytes(), parts.attributes(plan));
    let rows = if readers.lookups.is_empty() { None } else { Some(looked_up(&parts, transposed, plan)?) };
    for (number, product) in readers.products.iter().enumerate() {
        let stored = match number {
            0 => parts.clone().store(model, target),
            _ => parts.clone().copy(model, &format!("{name}_{}", number + 1)),
        };
        multiply(model, product.node, &stored, &attributes);
    }
    if let Some(rows) = rows {
        let stored = if readers.products.is_empty() {
            rows.store(model, target)
        } else {
            rows.copy(model, &format!("{name}_rows"))
        };
        for node in &readers.lookups {
            lookup::apply(model, *node, plan.scheme, &stored, &attributes);
        }
    }
    Ok(bytes)
}

/// The parts as rows are looked up in them. Single codes of four bits cannot be, but bytes can.
fn looked_up(parts: &Parts, transposed: &LazyTensor, plan: &Plan<'_>) -> Result<Parts, &'static str> {
    let mut rows = parts.clone();
    if plan.scheme.bits == Bits::Four {
        let bytes =
            |part| transposed.then(plan.part(parts.blocks, part)).ok_or("its rows do not fill whole bytes");
        rows.codes = bytes(Part::CodeBytes)?;
        if rows.zeros.is_some() {
            let zeros = bytes(Part::ZeroPointBytes)?;
            rows.zeros = match plan.scheme.block {
                Block::Channel => zeros.elements().and_then(|count| zeros.reshape(&[count])),
                Block::Size(_) => Some(zeros),
            };
        }
    }
    Ok(rows)
}

/// Makes a product read the codes, stored in its order of axes.
///
/// In a branch the codes are initializers of the branch, and dequantised there: runtimes fuse within one graph, and a
/// branch that is not taken costs nothing. Inside a loop, a weight would be dequantised in every iteration.
fn multiply(model: &mut Model, product: NodeId, stored: &[ValueId], attributes: &[(&str, i64)]) {
    let graph = &mut model.graph;
    let is_repeated = edit::is_repeated(graph, product);
    if let Some(block) = graph.nodes[product].block.filter(|_| !is_repeated) {
        for value in stored {
            graph.hold_in(*value, block);
        }
    }
    let first = graph.order(graph.main()).next().filter(|_| is_repeated);
    let mut front = Front { model, next: first.unwrap_or(product) };
    if let Some(restored) = front.emit(op::DequantizeLinear, stored, attributes) {
        model.graph.set_input(product, 1, Some(restored));
        model.graph.nodes[product].attributes.retain(|attribute| attribute.name != "transB");
    }
}
