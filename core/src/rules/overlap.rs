//! Rules that may match at one node, of which the first one wins.

use onnxport_pattern::{Pattern, overlap, parse, tokens};

use super::Listed;
use crate::ops::{Traits, traits_of};

/// Returns the rules that are tried before each rule, at the same priority, and may match at the same node; both as
/// positions in `listed`. Conditions are not considered, nor rules of different opsets.
///
/// Where rules have different priorities, their author has decided which one wins.
pub fn overlaps(listed: &[Listed]) -> Vec<Vec<usize>> {
    let read = |rule: &Listed| {
        let tokens = tokens(rule.pattern).ok().filter(|_| !rule.is_pass)?;
        parse(&tokens).ok()
    };
    let patterns: Vec<Option<Pattern>> = listed.iter().map(read).collect();
    let commutes = |op: &str| traits_of("", op).has(Traits::COMMUTATIVE);
    let both = |first: usize, second: usize| -> Option<bool> {
        let (a, b) = (listed.get(first)?, listed.get(second)?);
        let together = a.priority == b.priority
            && a.opsets.start() <= b.opsets.end()
            && b.opsets.start() <= a.opsets.end();
        let (x, y) = (patterns.get(first)?.as_ref()?, patterns.get(second)?.as_ref()?);
        Some(together && overlap(x, y, &commutes))
    };
    (0..listed.len())
        .map(|second| (0..second).filter(|first| both(*first, second) == Some(true)).collect())
        .collect()
}
