//! Lookups of rows in a quantised weight: only these rows are dequantised.
//!
//! The weight is stored as products take it, `[K, N]`, so that both share the stored bytes: a row of `K` is
//! a column there.

use super::edit::{self, Front};
use super::{Block, Scheme};
use crate::ir::{Attr, Attribute, Graph, Model, NodeId, ValueId};
use crate::op;
use crate::tensor::transform::Bits;
use crate::tensor::{DType, LazyTensor};

/// Signed codes of four bits, by their bits.
const SIGNED: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff];

/// Whether rows can be looked up so: the rank and the type of the indices are known.
pub(super) fn is_possible(graph: &Graph, node: NodeId) -> bool {
    indices(graph, node).is_some()
}

/// The indices of a `Gather`, and their rank.
fn indices(graph: &Graph, node: NodeId) -> Option<(ValueId, usize)> {
    let indices = graph.nodes[node].inputs.get(1).copied().flatten()?;
    let ty = &graph.values[indices].ty;
    matches!(ty.dtype(), Some(DType::I32 | DType::I64)).then_some(())?;
    Some((indices, ty.shape()?.rank()?))
}

/// Replaces the `Gather` at `old` by the dequantised rows. `stored` are the codes `[K, N]`, the scales and
/// the zero points; those of four bits as bytes. `attributes` are those of `DequantizeLinear` that describe
/// the blocks.
pub(super) fn apply(
    model: &mut Model,
    old: NodeId,
    scheme: &Scheme,
    stored: &[ValueId],
    attributes: &[(&str, i64)],
) {
    if let Some(rows) = rows(&mut Front { model, next: old }, scheme, stored, attributes) {
        edit::replace(&mut model.graph, old, rows);
    }
}

fn rows(
    front: &mut Front<'_>,
    scheme: &Scheme,
    stored: &[ValueId],
    attributes: &[(&str, i64)],
) -> Option<ValueId> {
    let graph = &front.model.graph;
    let (indices, rank) = indices(graph, front.next)?;
    let (codes, scales, zeros) = (*stored.first()?, *stored.get(1)?, stored.get(2).copied());
    let to = graph.values[scales].ty.dtype()?;
    // Scales of a whole output are a vector.
    let along = i64::from(scheme.block != Block::Channel);
    let packed = if scheme.bits == Bits::Four { Some(places(front, indices)?) } else { None };
    let found = |front: &mut Front<'_>, table, axis| match &packed {
        Some(places) => nibbles(front, table, axis, places, scheme.symmetric),
        None => front.emit(op::Gather, &[table, indices], &[("axis", axis)]),
    };
    let codes = found(front, codes, 1)?;
    let zeros = match zeros {
        Some(zeros) => Some(found(front, zeros, along)?),
        None => None,
    };
    let scales = front.emit(op::Gather, &[scales, indices], &[("axis", along)])?;
    let columns = if scheme.block == Block::Channel {
        let to = [("to", i64::from(to.onnx()))];
        let mut codes = front.emit(op::Cast, &[codes], &to)?;
        if let Some(zeros) = zeros {
            let zeros = front.emit(op::Cast, &[zeros], &to)?;
            codes = front.emit(op::Sub, &[codes, zeros], &[])?;
        }
        front.emit(op::Mul, &[codes, scales], &[])?
    } else {
        let inputs: Vec<ValueId> = [codes, scales].into_iter().chain(zeros).collect();
        front.emit(op::DequantizeLinear, &inputs, attributes)?
    };
    if rank == 0 {
        return Some(columns);
    }
    let order: Vec<i64> = (1..=rank as i64).chain([0]).collect();
    front.emit_with(
        op::Transpose,
        &[columns],
        vec![Attribute { name: "perm".into(), value: Attr::Ints(order) }],
    )
}

/// The positions of four-bit codes.
struct CodePositions {
    /// The byte.
    bytes: ValueId,
    /// The number of bits to shift by.
    by: ValueId,
}

/// Returns the positions of the columns `indices`, negative ones from the end: rows fill whole bytes.
fn places(front: &mut Front<'_>, indices: ValueId) -> Option<CodePositions> {
    let dtype = front.model.graph.values[indices].ty.dtype()?;
    let mut number = |n: i64| -> Option<ValueId> {
        let bytes = match dtype {
            DType::I32 => i32::try_from(n).ok()?.to_le_bytes().to_vec(),
            _ => n.to_le_bytes().to_vec(),
        };
        Some(front.model.graph.add_initializer(None, LazyTensor::inline(dtype, Vec::new(), bytes)))
    };
    let (two, four) = (number(2)?, number(4)?);
    let odd = front.emit(op::Mod, &[indices, two], &[])?;
    let even = front.emit(op::Sub, &[indices, odd], &[])?;
    let bytes = front.emit(op::Div, &[even, two], &[])?;
    let bits = front.emit(op::Mul, &[odd, four], &[])?;
    let by = front.emit(op::Cast, &[bits], &[("to", i64::from(DType::U8.onnx()))])?;
    Some(CodePositions { bytes, by })
}

/// Returns the four-bit codes at `places` along `axis`, as eight-bit codes.
fn nibbles(
    front: &mut Front<'_>,
    table: ValueId,
    axis: i64,
    places: &CodePositions,
    symmetric: bool,
) -> Option<ValueId> {
    let bytes = front.emit(op::Gather, &[table, places.bytes], &[("axis", axis)])?;
    let right = vec![Attribute { name: "direction".into(), value: Attr::Str("RIGHT".into()) }];
    let shifted = front.emit_with(op::BitShift, &[bytes, places.by], right)?;
    let mask = front.model.graph.add_initializer(None, LazyTensor::inline(DType::U8, Vec::new(), vec![15]));
    let low = front.emit(op::BitwiseAnd, &[shifted, mask], &[])?;
    if !symmetric {
        return Some(low);
    }
    let place = front.emit(op::Cast, &[low], &[("to", i64::from(DType::I32.onnx()))])?;
    let signed = LazyTensor::inline(DType::I8, vec![16], SIGNED.to_vec());
    let signed = front.model.graph.add_initializer(None, signed);
    front.emit(op::Gather, &[signed, place], &[("axis", 0)])
}
