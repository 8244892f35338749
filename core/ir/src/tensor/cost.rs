//! The size of pieces and the memory that evaluating one takes.

use super::joined::{Extent, Operation, Span};
use super::transform::quantise;
use super::transform::{Part, Transform};
use super::{Derived, Granule, Joined, LazyTensor, Source};

/// The bytes that a piece takes, all that it is made from included: a cache holds it.
pub(super) const PIECE: u64 = 1 << 20;

/// The most that it takes where a view reads across the source: each stretch of it then is longer.
const STRIDED_PIECE: u64 = 16 << 20;

/// Elements that a stretch of the source has at least, if that is not too much.
const STRETCH: u64 = 64;

/// Bytes of an element while it is made.
pub(super) fn unit(tensor: &LazyTensor) -> u64 {
    u64::from(tensor.dtype.bits()).div_ceil(8)
}

/// Elements of the result that are made together.
pub(super) fn step(tensor: &LazyTensor) -> u64 {
    let Source::Derived(derived) = &tensor.source else { return 1 };
    let inner = step(&derived.input);
    match &derived.transform {
        Transform::Cast(_) | Transform::Unary(_) => inner,
        Transform::Quantise(quantise) => match quantise.part {
            Part::Codes | Part::Scales | Part::ZeroPoints | Part::CodeBytes | Part::ZeroPointBytes => 1,
            Part::MatMulCodes | Part::MatMulZeroPoints => tensor.shape.last().copied().unwrap_or(1).max(1),
        },
        Transform::Foreign(_) => {
            let total = derived.input.elements().unwrap_or(1).max(1);
            let (made, taken) = (tensor.elements().unwrap_or(1), granule_input(derived));
            // All granules but the last give as much; the last one may be short, most often by as much as
            // what goes in.
            match made.checked_mul(taken) {
                Some(all) if all.is_multiple_of(total) => (all / total).max(1),
                _ => made.div_ceil(total.div_ceil(taken).max(1)).max(1),
            }
        }
    }
}

/// Elements of the input in a granule of a plugin's transform.
pub(super) fn granule_input(derived: &Derived) -> u64 {
    let all = derived.input.elements().unwrap_or(1).max(1);
    match derived.transform.granule(&derived.input.shape) {
        Granule::Element => 1,
        Granule::Block(size) => size.clamp(1, all),
        Granule::Row => derived.input.shape.last().copied().unwrap_or(1).max(1),
        Granule::Whole => all,
    }
}

/// Returns the size of a piece that reads across the source: rows of the result, one for each element of a stretch.
pub(super) fn strided_piece(tensor: &LazyTensor) -> u64 {
    let row = tensor.shape.last().copied().unwrap_or(1).saturating_mul(unit(tensor));
    match &tensor.source {
        Source::Derived(derived) if matches!(derived.transform, Transform::Quantise(_)) => STRIDED_PIECE,
        _ => row.saturating_mul(2 * STRETCH).clamp(2 * PIECE, STRIDED_PIECE),
    }
}

/// The elements of the smallest piece: packed ones are cut at whole bytes as well.
pub(super) fn smallest(tensor: &LazyTensor) -> u64 {
    // As many elements as fill whole bytes: two of four bits, four of six.
    step(tensor) << (3 - tensor.dtype.bits().trailing_zeros().min(3))
}

/// The bytes that the smallest pieces take: one is made while the one before it is taken away.
pub(super) fn least(tensor: &LazyTensor) -> u64 {
    let unit = smallest(tensor).min(tensor.elements().unwrap_or(1));
    cost(tensor, unit, quantise::tile(false)).saturating_mul(2)
}

/// How many elements of the result are best made together.
pub(super) fn preferred(tensor: &LazyTensor) -> u64 {
    match &tensor.source {
        Source::Derived(derived) => match &derived.transform {
            Transform::Quantise(quantise) => quantise.preferred(&derived.input.shape),
            _ => step(tensor),
        },
        _ => 1,
    }
}

/// The bytes that making `elements` of the result takes, the result included, when about `tile`
/// elements of a quantised weight are looked at together.
pub(super) fn cost(tensor: &LazyTensor, elements: u64, tile: u64) -> u64 {
    let own = elements.saturating_mul(unit(tensor));
    let derived = match &tensor.source {
        Source::Derived(derived) => derived,
        Source::Joined(joined) => return own.saturating_add(cost_of_inputs(joined, elements, tile)),
        _ => return own,
    };
    let input = &derived.input;
    let needed = match &derived.transform {
        Transform::Cast(_) | Transform::Unary(_) => cost(input, elements, tile),
        // The inputs of the weight take memory in addition to its values.
        Transform::Quantise(quantise) => quantise.memory(input, elements, tile).saturating_add(
            if matches!(input.source, Source::Derived(_) | Source::Joined(_)) {
                cost(input, step(input).max(tile), tile)
            } else {
                0
            },
        ),
        Transform::Foreign(_) => {
            let granules = elements.div_ceil(step(tensor));
            cost(input, granules.saturating_mul(granule_input(derived)), tile)
        }
    };
    own.saturating_add(needed)
}

/// The bytes that making the inputs of `elements` elements takes.
fn cost_of_inputs(joined: &Joined, elements: u64, tile: u64) -> u64 {
    let needed = |input: &LazyTensor, wanted: u64| {
        let total = input.elements().unwrap_or(u64::MAX);
        let granule = step(input);
        // Pieces of the result are not aligned with pieces of the inputs: those at both ends are evaluated in part.
        if granule == 1 {
            return cost(input, wanted.min(total), tile);
        }
        let wanted = wanted.saturating_add(granule.saturating_mul(2)).min(total);
        cost(input, wanted, tile).saturating_add(wanted.saturating_mul(unit(input)))
    };
    match joined.operation() {
        // Both at once.
        Operation::Binary(_) => {
            let total = joined.shape().iter().product::<u64>();
            let of = |input: &LazyTensor| {
                let repeat = (total / input.elements().unwrap_or(1).max(1)).max(1);
                needed(input, (elements / repeat).saturating_add(2).min(elements))
            };
            joined.inputs().iter().map(of).fold(0, u64::saturating_add)
        }
        // Both at once, the second one as a whole.
        Operation::Product => {
            let [a, b] = joined.inputs() else { return u64::MAX };
            let [inner, columns] = *b.shape.as_slice() else { return u64::MAX };
            let rows = (elements / columns.max(1)).saturating_add(2);
            let whole = needed(b, b.elements().unwrap_or(u64::MAX));
            needed(a, rows.saturating_mul(inner)).saturating_add(whole)
        }
        // One after the other; those of one form in the same buffers.
        Operation::Concat { axis } => {
            let mut most: Vec<(u64, u64)> = Vec::new();
            for (input, span) in Span::all(joined, axis) {
                let (form, needed) = (Extent::from_tensor(input).form, needed(input, span.most(elements)));
                match most.iter_mut().find(|(known, _)| *known == form) {
                    Some((_, most)) => *most = needed.max(*most),
                    None => most.push((form, needed)),
                }
            }
            most.iter().map(|(_, needed)| *needed).fold(0, u64::saturating_add)
        }
    }
}

/// Whether a view at the bottom is not dense.
pub(super) fn is_strided(tensor: &LazyTensor) -> bool {
    match &tensor.source {
        Source::Derived(derived) => is_strided(&derived.input),
        Source::Joined(joined) => joined.inputs().iter().any(is_strided),
        _ => tensor.strides.is_some(),
    }
}
