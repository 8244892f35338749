//! The graph of the direct members of a group, in layers: each edge goes down, through a place of its own in every
//! layer that it passes. Readers share an edge: a value that many read leaves its node once, and branches
//! where it is read. (Crates for layered layouts give places to boxes only, so that edges run across them.)

use std::collections::BTreeMap;

use super::align;
use super::order;
use super::scene::{ItemId, Kind, Scene, ValueId};

/// A vertex of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vertex {
    /// A box.
    Item(ItemId),
    /// Where a value comes into the group, at its upper rim.
    Take(ValueId),
    /// Where a value leaves it, at its lower rim.
    Hand(ValueId),
    /// Where an edge passes.
    Bend(ValueId),
}

/// A piece of an edge, from a vertex to one in the next layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Segment {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) value: ValueId,
}

/// The graph of a group, without sizes: those of boxes that are opened are not known before.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    pub(super) vertices: Vec<Vertex>,
    /// Vertices from left to right, from the upper layer to the lower.
    pub(super) layers: Vec<Vec<usize>>,
    pub(super) segments: Vec<Segment>,
    /// Four ways of saying which vertices are to stand below each other: by vertex, the first of its column.
    pub(super) columns: [Vec<usize>; 4],
}

impl Body {
    /// The graph of the direct members of `group`.
    pub(super) fn for_group(scene: &Scene, group: ItemId) -> Self {
        let item = &scene.items[group];
        // Edges to and from a holder end at its rims, and have a vertex there as well.
        let mut vertices: Vec<Vertex> = item.incoming().into_iter().map(Vertex::Take).collect();
        vertices.extend(item.inside.iter().map(|item| Vertex::Item(*item)));
        vertices.extend(item.outgoing().into_iter().map(Vertex::Hand));
        let mut giver: BTreeMap<ValueId, usize> = BTreeMap::new();
        for (at, vertex) in vertices.iter().enumerate() {
            match vertex {
                Vertex::Take(value) => {
                    giver.insert(*value, at);
                }
                Vertex::Item(item) => {
                    giver.extend(scene.items[*item].outgoing().into_iter().map(|value| (value, at)));
                }
                _ => {}
            }
        }
        let mut edges = Vec::new();
        for (at, vertex) in vertices.iter().enumerate() {
            let reads = match vertex {
                Vertex::Hand(value) => vec![*value],
                Vertex::Item(item) => scene.items[*item].incoming(),
                _ => Vec::new(),
            };
            for value in reads {
                edges.extend(giver.get(&value).filter(|from| **from != at).map(|from| (*from, at, value)));
            }
        }
        let fixed = |vertex: &Vertex| match vertex {
            Vertex::Take(_) => Some(End::Top),
            Vertex::Hand(_) => Some(End::Bottom),
            // Results stand below all others, as in a text.
            Vertex::Item(item) if scene.items[*item].kind == Kind::Output => Some(End::Low),
            _ => None,
        };
        let ends: Vec<Option<End>> = vertices.iter().map(fixed).collect();
        let ranks = ranks(&ends, &edges);
        Self::layered(vertices, &ranks, &edges)
    }

    fn layered(mut vertices: Vec<Vertex>, ranks: &[usize], edges: &[(usize, usize, ValueId)]) -> Self {
        let depth = ranks.iter().max().map_or(0, |most| most + 1);
        let mut layers: Vec<Vec<usize>> = vec![Vec::new(); depth];
        for (at, rank) in ranks.iter().enumerate() {
            layers[*rank].push(at);
        }
        // The readers of each value by giver, in the order of vertices.
        let mut readers: BTreeMap<(usize, ValueId), Vec<usize>> = BTreeMap::new();
        for (from, to, value) in edges {
            readers.entry((*from, *value)).or_default().push(*to);
        }
        let mut segments = Vec::new();
        for ((from, value), to) in readers {
            let last = to.iter().map(|to| ranks[*to]).max().unwrap_or(0);
            let mut at = from;
            for (rank, layer) in layers.iter_mut().enumerate().take(last + 1).skip(ranks[from] + 1) {
                let here = to.iter().filter(|to| ranks[**to] == rank);
                segments.extend(here.map(|to| Segment { from: at, to: *to, value }));
                if rank < last {
                    let bend = vertices.len();
                    vertices.push(Vertex::Bend(value));
                    layer.push(bend);
                    segments.push(Segment { from: at, to: bend, value });
                    at = bend;
                }
            }
        }
        let pairs: Vec<(usize, usize)> = segments.iter().map(|s| (s.from, s.to)).collect();
        order::order(&mut layers, &pairs, vertices.len());
        let is_bend: Vec<bool> = vertices.iter().map(|v| matches!(v, Vertex::Bend(_))).collect();
        let columns = align::columns(&layers, &pairs, &is_bend);
        Self { vertices, layers, segments, columns }
    }
}

/// Where a vertex has to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// In a layer above all others.
    Top,
    /// Below all that is neither this nor at the bottom.
    Low,
    /// In a layer below all others.
    Bottom,
}

/// The layer of every vertex: below its inputs, and as close to them as its readers allow.
fn ranks(ends: &[Option<End>], edges: &[(usize, usize, ValueId)]) -> Vec<usize> {
    let count = ends.len();
    let (mut above, mut below) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for (from, to, _) in edges {
        above[*to].push(*from);
        below[*from].push(*to);
    }
    let mut waits: Vec<usize> = above.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..count).rev().filter(|at| waits[*at] == 0).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(at) = ready.pop() {
        order.push(at);
        for next in &below[at] {
            waits[*next] -= 1;
            if waits[*next] == 0 {
                ready.push(*next);
            }
        }
    }
    let first = usize::from(ends.contains(&Some(End::Top)));
    let mut ranks = vec![first; count];
    for &at in &order {
        if ends[at] == Some(End::Top) {
            ranks[at] = 0;
        }
        for &next in &below[at] {
            ranks[next] = ranks[next].max(ranks[at] + 1);
        }
    }
    let free = |at: usize| ends[at].is_none();
    // A vertex with more outputs than inputs is placed near its readers, which shortens edges.
    for &at in order.iter().rev().filter(|at| free(**at)) {
        let low = below[at].iter().filter(|next| free(**next)).map(|next| ranks[*next]).min();
        if let Some(low) = low.filter(|_| below[at].len() > above[at].len() || above[at].is_empty()) {
            ranks[at] = ranks[at].max(low.saturating_sub(1));
        }
    }
    let deepest = |ranks: &[usize], skipped: &[End]| {
        let counts = |end: &Option<End>| end.is_none_or(|end| !skipped.contains(&end));
        (0..count).filter(|at| counts(&ends[*at])).map(|at| ranks[at] + 1).max().unwrap_or(first)
    };
    let low = deepest(&ranks, &[End::Low, End::Bottom]);
    for at in (0..count).filter(|at| ends[*at] == Some(End::Low)) {
        ranks[at] = low;
    }
    let bottom = deepest(&ranks, &[End::Bottom]);
    for at in (0..count).filter(|at| ends[*at] == Some(End::Bottom)) {
        ranks[at] = bottom;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_follow_edges_and_sources_stand_by_their_readers() {
        let ends = [Some(End::Top), None, None, None, None, Some(End::Bottom)];
        // 0 → 1 → 2 → 3 → 5, and 4 is read by 3 alone.
        let edges = [(0, 1, 0), (1, 2, 1), (2, 3, 2), (4, 3, 3), (3, 5, 4)];
        assert_eq!(ranks(&ends, &edges), [0, 1, 2, 3, 2, 4]);
    }

    #[test]
    fn a_value_has_one_edge_however_many_read_it() {
        let vertices: Vec<Vertex> = (0..4).map(Vertex::Item).collect();
        // All read the first one: in layers 1, 2 and 3.
        let edges = [(0, 1, 7), (0, 2, 7), (1, 2, 8), (0, 3, 7), (2, 3, 9)];
        let body = Body::layered(vertices, &[0, 1, 2, 3], &edges);
        let bends = body.vertices.iter().filter(|vertex| matches!(vertex, Vertex::Bend(7))).count();
        assert_eq!((bends, body.vertices.len()), (2, 6));
        for segment in &body.segments {
            let layer = |of: usize| body.layers.iter().position(|layer| layer.contains(&of)).unwrap();
            assert_eq!(layer(segment.from) + 1, layer(segment.to));
        }
    }
}
