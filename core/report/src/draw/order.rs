//! Who stands beside whom: the order in each layer, so that few edges cross.

use std::cmp::Ordering;

/// Passes over the layers, of a graph that is small; larger ones get fewer.
const PASSES: usize = 16;
/// So many pieces of edges count as small.
const SMALL: usize = 4_000;

/// The pieces of edges of each vertex, upwards and downwards.
pub(super) struct Around {
    pub(super) above: Vec<Vec<usize>>,
    pub(super) below: Vec<Vec<usize>>,
}

impl Around {
    pub(super) fn from_segments(segments: &[(usize, usize)], count: usize) -> Self {
        let (mut above, mut below) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (from, to) in segments {
            below[*from].push(*to);
            above[*to].push(*from);
        }
        Self { above, below }
    }
}

/// Orders the vertices of each layer. Edges go from a layer to the next one.
pub(super) fn order(layers: &mut [Vec<usize>], segments: &[(usize, usize)], count: usize) {
    let around = Around::from_segments(segments, count);
    first(layers, &around, count);
    let mut best = layers.to_vec();
    let mut least = crossings(layers, &around, count);
    let passes = (PASSES * SMALL / segments.len().max(SMALL)).max(3);
    for pass in 0..passes {
        if least == 0 {
            break;
        }
        sweep(layers, &around, count, pass % 2 == 0);
        if segments.len() <= SMALL {
            exchange(layers, &around, count);
        }
        let now = crossings(layers, &around, count);
        if now < least {
            least = now;
            best = layers.to_vec();
        }
    }
    layers.clone_from_slice(&best);
}

/// The order in which a walk into the depth comes to the vertices.
fn first(layers: &mut [Vec<usize>], around: &Around, count: usize) {
    let mut seen = vec![usize::MAX; count];
    let mut next = 0;
    for start in layers.iter().flatten() {
        let mut left = vec![*start];
        while let Some(at) = left.pop() {
            if seen[at] == usize::MAX {
                seen[at] = next;
                next += 1;
                left.extend(around.below[at].iter().rev());
            }
        }
    }
    for layer in layers {
        layer.sort_by_key(|at| seen[*at]);
    }
}

fn places(layers: &[Vec<usize>], count: usize) -> Vec<usize> {
    let mut places = vec![0; count];
    for layer in layers {
        for (place, at) in layer.iter().enumerate() {
            places[*at] = place;
        }
    }
    places
}

/// Puts each vertex where its neighbours in the layer before are on the average.
fn sweep(layers: &mut [Vec<usize>], around: &Around, count: usize, down: bool) {
    let mut places = places(layers, count);
    let last = layers.len();
    for step in 0..last {
        let layer = if down { &mut layers[step] } else { &mut layers[last - 1 - step] };
        let near = if down { &around.above } else { &around.below };
        let wanted = |at: usize| -> f64 {
            let list = &near[at];
            if list.is_empty() {
                return places[at] as f64;
            }
            list.iter().map(|other| places[*other] as f64).sum::<f64>() / list.len() as f64
        };
        let mut keyed: Vec<(f64, usize)> = layer.iter().map(|at| (wanted(*at), *at)).collect();
        keyed.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
        for (place, (_, at)) in keyed.into_iter().enumerate() {
            layer[place] = at;
            places[at] = place;
        }
    }
}

/// Exchanges neighbours where fewer edges cross then.
fn exchange(layers: &mut [Vec<usize>], around: &Around, count: usize) {
    let places = places(layers, count);
    let crossed = |a: usize, b: usize| -> usize {
        let pairs = |near: &[Vec<usize>]| -> usize {
            let right = near[b].iter().map(|to| places[*to]);
            right.map(|to| near[a].iter().filter(|from| places[**from] > to).count()).sum()
        };
        pairs(&around.above) + pairs(&around.below)
    };
    for layer in layers {
        for at in 1..layer.len() {
            let (a, b) = (layer[at - 1], layer[at]);
            if crossed(b, a) < crossed(a, b) {
                layer.swap(at - 1, at);
            }
        }
    }
}

/// How many pairs of edges cross.
fn crossings(layers: &[Vec<usize>], around: &Around, count: usize) -> usize {
    let places = places(layers, count);
    let mut sum = 0;
    for pair in layers.windows(2) {
        let [upper, lower] = pair else { continue };
        // Ends in the order of beginnings: a pair that stands the wrong way round crosses. Counted by a tree of sums.
        let mut tree = vec![0usize; lower.len() + 1];
        let mut before = 0;
        for at in upper {
            let mut ends: Vec<usize> = around.below[*at].iter().map(|to| places[*to]).collect();
            ends.sort_unstable();
            for end in &ends {
                let (mut node, mut not_right) = (end + 1, 0);
                while node > 0 {
                    not_right += tree[node];
                    node &= node - 1;
                }
                sum += before - not_right;
            }
            for end in ends {
                before += 1;
                let mut node = end + 1;
                while node < tree.len() {
                    tree[node] += 1;
                    node += node & node.wrapping_neg();
                }
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_are_counted_and_taken_away() {
        let segments = [(0, 5), (1, 4), (2, 3), (0, 3)];
        let mut layers = vec![vec![0, 1, 2], vec![3, 4, 5]];
        let around = Around::from_segments(&segments, 6);
        assert_eq!(crossings(&layers, &around, 6), 3);
        order(&mut layers, &segments, 6);
        assert_eq!(crossings(&layers, &around, 6), 0, "{layers:?}");
    }

    #[test]
    fn nobody_is_lost() {
        let segments: Vec<(usize, usize)> = (0..40).map(|n| (n, 40 + (n * 17 + 5) % 40)).collect();
        let mut layers = vec![(0..40).collect::<Vec<_>>(), (40..80).collect()];
        order(&mut layers, &segments, 80);
        let mut all: Vec<usize> = layers.concat();
        all.sort_unstable();
        assert_eq!(all, (0..80).collect::<Vec<_>>());
    }
}
