//! Which tensors show the same bytes.

use std::ops::Range;

use super::{SharedStorage, TensorSummary, WeightTable};

/// Where a tensor lies, in numbers.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// Which file, or other space of addresses.
    pub(super) space: usize,
    /// The bytes of the whole storage; tensors whose storages overlap share one.
    pub(super) storage: Range<u64>,
    /// The bytes from the first element to the last.
    pub(super) reach: Range<u64>,
    /// Equal for tensors that show the same elements.
    pub(super) view: usize,
}

/// A table of `tensors`, each with where it lies; without it a tensor shares nothing.
pub(super) fn table(mut tensors: Vec<TensorSummary>, spans: &[Option<Span>]) -> WeightTable {
    let mut order: Vec<(usize, &Span)> =
        spans.iter().enumerate().filter_map(|(at, span)| Some((at, span.as_ref()?))).collect();
    order.sort_by_key(|(at, span)| (span.space, span.storage.start, *at));
    let mut groups: Vec<Vec<(usize, &Span)>> = Vec::new();
    let mut end = (0, 0);
    for (at, span) in order {
        if span.storage.is_empty() {
            continue;
        }
        match groups.last_mut() {
            Some(group) if end.0 == span.space && span.storage.start < end.1 => {
                group.push((at, span));
                end.1 = end.1.max(span.storage.end);
            }
            _ => {
                groups.push(vec![(at, span)]);
                end = (span.space, span.storage.end);
            }
        }
    }
    groups.retain(|group| group.len() > 1);
    for group in &mut groups {
        group.sort_by_key(|(at, _)| *at);
    }
    groups.sort_by_key(|group| group.first().map(|(at, _)| *at));
    let bytes = tensors.iter().fold(0u64, |sum, tensor| sum.saturating_add(tensor.bytes));
    let mut shared = Vec::with_capacity(groups.len());
    for (number, group) in groups.iter().enumerate() {
        shared.push(storage(group, &tensors));
        for (at, _) in group {
            if let Some(tensor) = tensors.get_mut(*at) {
                tensor.shared = Some(number);
            }
        }
    }
    let saved_bytes =
        shared.iter().fold(0u64, |sum, storage: &SharedStorage| sum.saturating_add(storage.saved_bytes));
    WeightTable { tensors, shared, bytes, distinct_bytes: bytes.saturating_sub(saved_bytes), saved_bytes }
}

fn storage(group: &[(usize, &Span)], tensors: &[TensorSummary]) -> SharedStorage {
    let mut views: indexmap::IndexMap<usize, (Vec<String>, &Span)> = indexmap::IndexMap::new();
    let mut saved_bytes = 0u64;
    for (at, span) in group {
        let Some(tensor) = tensors.get(*at) else { continue };
        let (names, _) = views.entry(span.view).or_insert_with(|| (Vec::new(), span));
        if !names.is_empty() {
            saved_bytes = saved_bytes.saturating_add(tensor.bytes);
        }
        names.push(tensor.name.clone());
    }
    let mut reaches: Vec<&Range<u64>> = views.values().map(|(_, span)| &span.reach).collect();
    reaches.sort_by_key(|reach| (reach.start, reach.end));
    let mut end = 0;
    let mut overlapping = false;
    for reach in reaches.into_iter().filter(|reach| !reach.is_empty()) {
        overlapping |= reach.start < end;
        end = end.max(reach.end);
    }
    SharedStorage { views: views.into_values().map(|(names, _)| names).collect(), overlapping, saved_bytes }
}
