//! Sorts whose result differs from the reference's but is correct as well.
//!
//! The order of equal keys is unspecified unless the sort is stable, and PyTorch's `topk(sorted=False)` returns its
//! selection in any order. So indices that differ from the reference's are correct if they select equal keys. Values
//! computed from them are in another order too.

use std::cmp::Ordering;

use super::Search;
use super::alone::{Part, tensor};
use crate::diagnose::Diagnostic;
use crate::ir::{Attributes, Def, Graph, Node, ValueId};
use crate::op;
use crate::ops::{Elements, Traits, traits};
use crate::run::Computed;
use crate::taps::cut;

/// Whether `value`, which is `got` in the model and `expected` in the reference, is the result of a sort of the same
/// keys in another correct order. `border` are the values that it is computed from.
pub(super) fn is_tie(
    search: &Search<'_, '_>,
    value: ValueId,
    border: &[(ValueId, Computed)],
    got: &Computed,
    expected: &Computed,
) -> Result<bool, Diagnostic> {
    let graph = &search.model.graph;
    let Some((node, output)) = sort_of(graph, value) else { return Ok(false) };
    let Some(keys) = node.inputs.first().copied().flatten() else { return Ok(false) };
    let known = border.iter().find(|(value, _)| *value == keys).map(|(_, known)| known.clone());
    let keys = match known {
        Some(known) => Some(known),
        None => {
            let border: Vec<(ValueId, &Computed)> =
                border.iter().map(|(value, known)| (*value, known)).collect();
            let inputs: Vec<Computed> = border.iter().map(|(_, known)| (*known).clone()).collect();
            Part::new(cut(search.model, &[keys], &border))?.evaluate(&inputs)
        }
    };
    let sort = || Sort::new(node.at(search.model.opset()), &keys?, got);
    Ok(got.shape == expected.shape
        && sort().is_some_and(|sort| sort.allows(output, got, expected) == Some(true)))
}

/// Returns the `TopK` that computes the elements of `value`, and the index of the output.
fn sort_of(graph: &Graph, mut value: ValueId) -> Option<(&Node, u32)> {
    loop {
        let Def::Node(node, output) = graph.values[value].def else { return None };
        let node = graph.nodes.find(node).filter(|node| node.domain.is_empty())?;
        match node.op.as_str() {
            op::TopK => return Some((node, output)),
            op if op == op::Cast || traits(node).has(Traits::RESHAPES) => {
                value = node.inputs.first().copied().flatten()?;
            }
            _ => return None,
        }
    }
}

/// A sort along an axis, from which the first of each lane are taken.
struct Sort {
    keys: Elements,
    /// The number of keys in a lane, the number selected, and the stride between two of them.
    extent: usize,
    taken: usize,
    inner: usize,
    lanes: usize,
    largest: bool,
    sorted: bool,
}

impl Sort {
    /// Returns the sort of `keys` by a `TopK` with these attributes, with as many results as `got` has.
    fn new(attributes: Attributes<'_>, keys: &Computed, got: &Computed) -> Option<Self> {
        let rank = i64::try_from(keys.shape.len()).ok()?;
        let axis = attributes.int("axis")?;
        let axis = usize::try_from(if axis < 0 { axis.checked_add(rank)? } else { axis }).ok()?;
        let volume = |dims: &[u64]| {
            let volume = dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d))?;
            usize::try_from(volume).ok()
        };
        let extent = usize::try_from(*keys.shape.get(axis)?).ok()?;
        let inner = volume(keys.shape.get(axis.checked_add(1)?..)?)?;
        let lanes = volume(keys.shape.get(..axis)?)?.checked_mul(inner)?;
        let taken = volume(&got.shape)?.checked_div(lanes)?;
        let (largest, sorted) = (attributes.flag("largest")?, attributes.flag("sorted")?);
        Some(Self { keys: tensor(keys)?.elements(), extent, taken, inner, lanes, largest, sorted })
    }

    /// Whether both results are correct; `None` if they are not results of this sort at all.
    fn allows(&self, output: u32, got: &Computed, expected: &Computed) -> Option<bool> {
        let [got, expected] = [tensor(got)?.elements(), tensor(expected)?.elements()];
        let (mut only_ties, mut same_keys) = (true, true);
        let (mut got_is, mut expected_is) = (Order::default(), Order::default());
        for lane in 0..self.lanes {
            let (a, b) = if output == 0 {
                (Lane::of_values(self, &got, lane)?, Lane::of_values(self, &expected, lane)?)
            } else {
                (Lane::of_indices(self, &got, lane)?, Lane::of_indices(self, &expected, lane)?)
            };
            only_ties &= a.equals(&b);
            got_is.note(&a, self.largest);
            expected_is.note(&b, self.largest);
            same_keys &= a.in_order().equals(&b.in_order());
        }
        // The model's runtime keeps the order of equal keys, or the reference does not.
        let is_other_order = only_ties && (got_is.stable || !expected_is.stable);
        // `topk(sorted=False)`: the same keys, unsorted.
        let is_unsorted =
            same_keys && self.taken < self.extent && self.sorted && got_is.sorted && !expected_is.sorted;
        Some(is_other_order || is_unsorted)
    }
}

/// The selection from one lane: keys, by their positions among all keys, and their positions in the lane.
struct Lane<'e> {
    keys: &'e Elements,
    taken: Vec<(usize, i64)>,
}

impl<'e> Lane<'e> {
    /// Reads indices into the keys of `sort`; `None` if they are out of range or repeated.
    fn of_indices(sort: &'e Sort, indices: &Elements, lane: usize) -> Option<Self> {
        let Elements::Int(indices) = indices else { return None };
        let (outer, inner) = (lane.checked_div(sort.inner)?, lane.checked_rem(sort.inner)?);
        let at = |extent: usize, index: usize| {
            outer.checked_mul(extent)?.checked_add(index)?.checked_mul(sort.inner)?.checked_add(inner)
        };
        let mut taken = Vec::with_capacity(sort.taken);
        for position in 0..sort.taken {
            let index = i64::try_from(*indices.get(at(sort.taken, position)?)?).ok()?;
            let key = usize::try_from(index).ok().filter(|index| *index < sort.extent)?;
            taken.push((at(sort.extent, key)?, index));
        }
        let mut distinct: Vec<i64> = taken.iter().map(|(_, index)| *index).collect();
        distinct.sort_unstable();
        distinct.dedup();
        (distinct.len() == sort.taken).then_some(Self { keys: &sort.keys, taken })
    }

    /// Reads keys themselves; their positions are unknown.
    fn of_values(sort: &Sort, values: &'e Elements, lane: usize) -> Option<Self> {
        let (outer, inner) = (lane.checked_div(sort.inner)?, lane.checked_rem(sort.inner)?);
        let at = |index: usize| {
            outer.checked_mul(sort.taken)?.checked_add(index)?.checked_mul(sort.inner)?.checked_add(inner)
        };
        let taken = (0..sort.taken).map(|position| Some((at(position)?, position as i64)));
        Some(Self { keys: values, taken: taken.collect::<Option<_>>()? })
    }

    fn equals(&self, other: &Self) -> bool {
        let mut pairs = self.taken.iter().zip(&other.taken);
        pairs.all(|((a, _), (b, _))| compare((self.keys, *a), (other.keys, *b)).is_eq())
    }

    /// The same keys from the least to the greatest.
    fn in_order(&self) -> Self {
        let mut taken = self.taken.clone();
        taken.sort_by(|(a, _), (b, _)| compare((self.keys, *a), (self.keys, *b)));
        Self { keys: self.keys, taken }
    }
}

/// The order of lanes.
struct Order {
    /// Each key is at least as far in front as the next one.
    sorted: bool,
    /// Adjacent equal keys keep their original order.
    stable: bool,
}

impl Default for Order {
    fn default() -> Self {
        Self { sorted: true, stable: true }
    }
}

impl Order {
    fn note(&mut self, lane: &Lane<'_>, largest: bool) {
        for ((a, first), (b, second)) in lane.taken.iter().zip(lane.taken.iter().skip(1)) {
            let order = compare((lane.keys, *a), (lane.keys, *b));
            let order = if largest { order.reverse() } else { order };
            self.sorted &= order.is_le();
            self.stable &= order.is_ne() || first < second;
        }
    }
}

/// The order of two elements of one type; NaN is the largest.
fn compare((a, at): (&Elements, usize), (b, beside): (&Elements, usize)) -> Ordering {
    match (a, b) {
        (Elements::Int(a), Elements::Int(b)) => a.get(at).cmp(&b.get(beside)),
        (Elements::Bool(a), Elements::Bool(b)) => a.get(at).cmp(&b.get(beside)),
        (Elements::Float(a), Elements::Float(b)) => match (a.get(at), b.get(beside)) {
            (Some(a), Some(b)) => a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
            _ => Ordering::Less,
        },
        _ => Ordering::Less,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::DType;

    fn longs(values: &[i64]) -> Computed {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let shape = vec![values.len() as u64];
        Computed { name: String::new(), dtype: DType::I64, shape, bytes: bytes.into() }
    }

    /// Whether a full sort of 5, 4, 5 in ascending order may give `got` if the reference has `expected`.
    fn allowed(got: &[i64], expected: &[i64]) -> Option<bool> {
        let keys = tensor(&longs(&[5, 4, 5])).map(|keys| keys.elements())?;
        let sort = Sort { keys, extent: 3, taken: 3, inner: 1, lanes: 1, largest: false, sorted: true };
        sort.allows(1, &longs(got), &longs(expected))
    }

    #[test]
    fn equal_keys_may_stand_in_any_order_but_for_a_reference_that_keeps_theirs() {
        assert_eq!(allowed(&[1, 0, 2], &[1, 2, 0]), Some(true));
        assert_eq!(allowed(&[1, 2, 0], &[1, 0, 2]), Some(false));
        assert_eq!(allowed(&[0, 1, 2], &[1, 2, 0]), Some(false));
        assert_eq!(allowed(&[1, 0, 2], &[1, 0, 0]), None);
        assert_eq!(allowed(&[1, 0, 2], &[1, 0, 3]), None);
    }
}
