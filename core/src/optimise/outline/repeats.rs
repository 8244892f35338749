//! Finds stretches of a sequence that repeat consecutively.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// The number of periods to examine.
const CANDIDATES: usize = 16;

/// Consecutive copies of one stretch, judged by the items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repeat {
    /// The range of the copies; its length need not be a multiple of the period.
    pub(super) range: Range<usize>,
    /// The length of one copy.
    pub(super) period: usize,
}

/// Returns the repeats, in order, of the period of at least `least` items that shortens the sequence most; none if
/// nothing of that length repeats.
pub(super) fn repeats(items: &[u32], least: usize) -> Vec<Repeat> {
    let mut last: FxHashMap<u32, usize> = FxHashMap::default();
    let mut distances: FxHashMap<usize, usize> = FxHashMap::default();
    for (at, item) in items.iter().enumerate() {
        if let Some(before) = last.insert(*item, at) {
            *distances.entry(at - before).or_default() += 1;
        }
    }
    let mut periods: Vec<(usize, usize)> = distances.into_iter().filter(|(d, _)| *d >= least).collect();
    periods.sort_by_key(|(distance, count)| (std::cmp::Reverse(*count), *distance));
    let candidates = periods.iter().take(CANDIDATES).map(|(period, _)| {
        let found = of_period(items, *period);
        let saved: usize = found.iter().map(|repeat| repeat.range.len() / period * period - period).sum();
        (saved, found)
    });
    // Of equally good ones the first, which is the most frequent.
    candidates.rev().max_by_key(|(saved, _)| *saved).map(|(_, found)| found).unwrap_or_default()
}

/// The longest stretches in which every item is the one a `period` before it.
fn of_period(items: &[u32], period: usize) -> Vec<Repeat> {
    let mut found = Vec::new();
    let mut start = 0;
    let pairs = items.iter().zip(items.iter().skip(period));
    let ends = pairs.map(|(a, b)| a == b).chain(std::iter::once(false)).enumerate();
    for (at, _) in ends.filter(|(_, same)| !same) {
        if at - start >= period {
            found.push(Repeat { range: start..at + period, period });
        }
        start = at + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Repeat, repeats};

    fn of(text: &str, least: usize) -> Vec<Repeat> {
        repeats(&text.bytes().map(u32::from).collect::<Vec<_>>(), least)
    }

    #[test]
    fn the_stretch_that_saves_most_is_found() {
        assert_eq!(of("xabcabcabcy", 2), [Repeat { range: 1..10, period: 3 }]);
        assert_eq!(of("xabcabcaby", 2), [Repeat { range: 1..9, period: 3 }]);
        assert_eq!(of("abxabyab", 2), []);
        // Long ones may hold short ones, and the same may begin again.
        assert_eq!(of("aabaab", 1), [Repeat { range: 0..6, period: 3 }]);
        let twice = [Repeat { range: 0..4, period: 2 }, Repeat { range: 5..9, period: 2 }];
        assert_eq!(of("ababxabab", 2), twice);
    }

    #[test]
    fn shorter_ones_do_not_count() {
        assert_eq!(of("ababab", 3), []);
        assert_eq!(of("", 1), []);
        assert_eq!(of("aaaa", 2), []);
    }
}
