//! Which vertices stand below each other: columns, so that long edges are straight.
//!
//! U. Brandes and B. Köpf, *Fast and Simple Horizontal Coordinate Assignment*, 2001: four times, from above and from below,
//! from the left and from the right. Nothing here depends on the sizes of boxes.

use std::collections::{BTreeMap, BTreeSet};

use super::order::Around;

/// For each of the four ways, the first vertex of the column of each vertex: from above, then from below; each first from
/// the left, then from the right.
pub(super) fn columns(
    layers: &[Vec<usize>],
    segments: &[(usize, usize)],
    is_bend: &[bool],
) -> [Vec<usize>; 4] {
    let around = Around::from_segments(segments, is_bend.len());
    let conflicts = conflicts(layers, &around, is_bend);
    [(false, false), (false, true), (true, false), (true, true)]
        .map(|(up, right)| column(layers, &around, &conflicts, up, right))
}

/// Pieces between boxes that cross a piece between two bends: the latter stays straight.
fn conflicts(layers: &[Vec<usize>], around: &Around, is_bend: &[bool]) -> BTreeSet<(usize, usize)> {
    let mut found = BTreeSet::new();
    for pair in layers.windows(2) {
        let [upper, lower] = pair else { continue };
        let at: BTreeMap<usize, usize> =
            upper.iter().enumerate().map(|(place, vertex)| (*vertex, place)).collect();
        // Between the inner pieces to the left and to the right of a vertex, its own may end.
        let inner = |vertex: usize| -> Option<usize> {
            let from = around.above[vertex].first().filter(|_| is_bend[vertex])?;
            is_bend[*from].then(|| at[from])
        };
        let (mut low, mut scanned) = (0, 0);
        for (index, vertex) in lower.iter().enumerate() {
            let bound = inner(*vertex);
            if bound.is_none() && index + 1 < lower.len() {
                continue;
            }
            let high = bound.unwrap_or(upper.len());
            for other in &lower[scanned..=index] {
                for from in &around.above[*other] {
                    let is_inner = is_bend[*from] && is_bend[*other];
                    if (at[from] < low || at[from] > high) && !is_inner {
                        found.insert((*from, *other));
                    }
                }
            }
            scanned = index + 1;
            low = bound.unwrap_or(low);
        }
    }
    found
}

fn column(
    layers: &[Vec<usize>],
    around: &Around,
    conflicts: &BTreeSet<(usize, usize)>,
    up: bool,
    right: bool,
) -> Vec<usize> {
    let count = around.above.len();
    let mut place = vec![0i64; count];
    for layer in layers {
        for (at, vertex) in layer.iter().enumerate() {
            place[*vertex] = if right { -(at as i64) } else { at as i64 };
        }
    }
    let near = if up { &around.below } else { &around.above };
    let mut root: Vec<usize> = (0..count).collect();
    let mut is_followed = vec![false; count];
    let mut sequence: Vec<usize> = (0..layers.len()).collect();
    if up {
        sequence.reverse();
    }
    for at in sequence {
        let mut layer = layers[at].clone();
        if right {
            layer.reverse();
        }
        let mut last = i64::MIN;
        for vertex in layer {
            let mut others = near[vertex].clone();
            others.sort_by_key(|other| place[*other]);
            let middle = (others.len().saturating_sub(1) / 2, others.len() / 2);
            for other in
                others.get(middle.0..=middle.1.min(others.len().saturating_sub(1))).unwrap_or_default()
            {
                let piece = if up { (vertex, *other) } else { (*other, vertex) };
                if root[vertex] == vertex
                    && !is_followed[*other]
                    && last < place[*other]
                    && !conflicts.contains(&piece)
                {
                    root[vertex] = root[*other];
                    is_followed[*other] = true;
                    last = place[*other];
                }
            }
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_edge_is_one_column() {
        // 0 → 1 → 2 → 3 beside the bends 4 and 5 of an edge from 0 to 3.
        let layers = [vec![0], vec![1, 4], vec![2, 5], vec![3]];
        let segments = [(0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (5, 3)];
        let is_bend = [false, false, false, false, true, true];
        for column in columns(&layers, &segments, &is_bend) {
            assert_eq!(column[4], column[5], "{column:?}");
            assert_eq!(column[1], column[2]);
        }
    }

    #[test]
    fn no_column_crosses_another() {
        let layers = [vec![0, 1, 2], vec![3, 4, 5]];
        let segments = [(0, 5), (1, 4), (2, 3)];
        for column in columns(&layers, &segments, &[false; 6]) {
            let aligned = (0..6).filter(|at| column[*at] != *at).count();
            assert_eq!(aligned, 1, "{column:?}");
        }
    }
}
