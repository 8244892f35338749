//! Integers that OpenVINO computes in 32 bits.
//!
//! A region gets no check of its inputs at run time, so that a node is taken only where 64-bit integers surely fit: they
//! are sizes, positions, or constants.

use onnxport_sdk::{DType, NodeRef, ValueRef, op};

/// Why `node` might compute with integers that 32 bits do not hold.
pub(super) fn refusal(node: NodeRef<'_>) -> Option<&'static str> {
    for (index, value) in node.inputs().into_iter().enumerate() {
        let Some(value) = value.filter(|value| is_wide(*value)) else { continue };
        if value.is_initializer() {
            // Bounds of slices that are out of range mean the end of the axis.
            if !node.is(op::Slice) && !is_narrow(value) {
                return Some("it has a constant that 32 bits do not hold");
            }
        } else if !is_size(value) && !is_position(node, index) {
            return Some("OpenVINO computes 64-bit integers in 32 bits, and an input may hold larger ones");
        }
    }
    let is_wide_result = |value: &ValueRef<'_>| is_wide(*value) && !is_size(*value);
    if node.outputs().into_iter().flatten().any(|value| is_wide_result(&value)) {
        return Some("OpenVINO computes 64-bit integers in 32 bits, and an output may hold larger ones");
    }
    None
}

fn is_wide(value: ValueRef<'_>) -> bool {
    value.dtype() == Some(DType::I64)
}

/// Whether the value holds sizes of axes, or is counted from them.
fn is_size(value: ValueRef<'_>) -> bool {
    let counts = |node: NodeRef<'_>| {
        node.is(op::Shape)
            || node.is(op::Size)
            || node.is(op::ArgMax)
            || node.is(op::ArgMin)
            || node.is(op::NonZero)
            || node.is(op::TopK)
    };
    value.contents().is_some() || value.producer().is_some_and(|(node, _)| counts(node))
}

/// Whether the input at `index` selects elements: larger numbers select none.
fn is_position(node: NodeRef<'_>, index: usize) -> bool {
    let by_second = node.is(op::Gather)
        || node.is(op::GatherElements)
        || node.is(op::GatherND)
        || node.is(op::ScatterElements)
        || node.is(op::ScatterND);
    by_second && index == 1
}

/// Whether the integers of an initializer fit in 32 bits.
fn is_narrow(value: ValueRef<'_>) -> bool {
    let Some(initializer) = value.initializer() else { return false };
    let mut piece = vec![0; 1 << 16];
    let mut at = 0;
    while at < initializer.byte_length {
        let left = usize::try_from(initializer.byte_length - at).unwrap_or(usize::MAX).min(piece.len());
        let Some(part) = piece.get_mut(..left) else { return false };
        if !value.read(at, part) {
            return false;
        }
        if part.as_chunks::<8>().0.iter().any(|b| i32::try_from(i64::from_le_bytes(*b)).is_err()) {
            return false;
        }
        at += left as u64;
    }
    true
}
