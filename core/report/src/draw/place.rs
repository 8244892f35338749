//! Where everything stands, once it is known which groups are open. `assets/draw.js` does the same on a page, step by step,
//! where groups are opened and closed.

use std::collections::BTreeMap;

use super::body::{Body, Segment, Vertex};
use super::card::{self, Card, PAD, PILL};
use super::scene::{ItemId, Scene, ValueId};

/// The space between boxes of a layer, between a box and an edge, and between edges.
const GAPS: [f64; 3] = [24.0, 14.0, 9.0];
/// The padding inside a group, and the height of its title line.
const MARGIN: f64 = 16.0;
const HEAD: f64 = 30.0;
/// The space between layers: the minimum, the amount for each unit that an edge moves sideways, and the maximum.
const STEP: (f64, f64, f64) = (26.0, 0.09, 64.0);
/// The distance from a box to the labels of its outputs.
pub(super) const STEM: f64 = 8.0;
/// How wide the place is where a value goes through the rim of a group.
const PORT: f64 = 12.0;
/// Between labels.
const BETWEEN: f64 = 6.0;

/// The closed boxes and the graphs of a scene.
pub(super) struct Plan<'s> {
    pub(super) scene: &'s Scene,
    pub(super) cards: Vec<Card>,
    /// The labels of values, and how wide they are.
    pub(super) pills: Vec<(String, f64)>,
}

impl<'s> Plan<'s> {
    pub(super) fn for_scene(scene: &'s Scene) -> Self {
        let cards = scene.items.iter().map(|item| Card::for_item(scene, item)).collect();
        let pills = (0..scene.values.len()).map(|value| card::pill(scene, value)).collect();
        Self { scene, cards, pills }
    }
}

/// An open group, with everything in it; places are relative to its upper left corner.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) item: ItemId,
    pub(super) body: Body,
    pub(super) width: f64,
    pub(super) height: f64,
    /// The middle of each vertex.
    pub(super) x: Vec<f64>,
    /// The layer of each vertex.
    pub(super) layer: Vec<usize>,
    /// Where each layer begins, and how high it is.
    pub(super) rows: Vec<(f64, f64)>,
    /// The content of each vertex.
    pub(super) boxes: Vec<Placed>,
}

/// The content of a vertex: a box with labels below it.
#[derive(Clone, Debug, Default)]
pub(super) struct Placed {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Where values leave it at the lower rim, from the middle of the box, and whether they have a label there.
    pub(super) leaves: Vec<(ValueId, f64, bool)>,
    /// Where values come in at the upper rim, from the middle of the box; others are spread.
    pub(super) ports: BTreeMap<ValueId, f64>,
    /// The contents, if it is open.
    pub(super) inside: Option<Box<Open>>,
}

impl Placed {
    /// With the labels.
    fn whole(&self, plan: &Plan<'_>) -> (f64, f64) {
        let labels = self.leaves.iter().filter(|(_, _, labelled)| *labelled);
        let reach = labels.map(|(value, x, _)| x.abs() + plan.pills[*value].1 / 2.0);
        let width = reach.fold(self.width / 2.0, f64::max) * 2.0;
        (width, self.height + if self.is_labelled() { STEM + PILL } else { 0.0 })
    }

    pub(super) fn is_labelled(&self) -> bool {
        self.leaves.iter().any(|(_, _, labelled)| *labelled)
    }
}

/// Places `group` and its contents; `open` lists the open groups.
pub(super) fn place(plan: &Plan<'_>, group: ItemId, open: &dyn Fn(ItemId) -> bool) -> Open {
    let scene = plan.scene;
    let body = Body::for_group(scene, group);
    let mut boxes = Vec::with_capacity(body.vertices.len());
    for vertex in &body.vertices {
        boxes.push(match vertex {
            Vertex::Item(item) if scene.items[*item].is_group() && open(*item) => {
                opened(plan, place(plan, *item, open))
            }
            Vertex::Item(item) => closed(plan, *item),
            Vertex::Take(_) => Placed { width: PORT, ..Placed::default() },
            Vertex::Hand(value) => Placed { width: handed(plan, group, *value), ..Placed::default() },
            Vertex::Bend(_) => Placed::default(),
        });
    }
    let sizes: Vec<(f64, f64)> = boxes.iter().map(|placed| placed.whole(plan)).collect();
    let widths: Vec<f64> = sizes.iter().map(|(width, _)| *width).collect();
    let mut x = across(&body, &widths);
    let edges = |sign: f64| {
        let ends = x.iter().zip(&widths).map(move |(x, width)| sign * x + width / 2.0);
        ends.fold(f64::NEG_INFINITY, f64::max)
    };
    let (right, left) = if x.is_empty() { (0.0, 0.0) } else { (edges(1.0), -edges(-1.0)) };
    let head = card::head(&scene.items[group]).width + 2.0 * PAD;
    let width = (right - left).max(head) + 2.0 * MARGIN;
    let shift = (width - (right - left)) / 2.0 - left;
    for x in &mut x {
        *x += shift;
    }
    let mut layer = vec![0; body.vertices.len()];
    for (at, vertices) in body.layers.iter().enumerate() {
        for vertex in vertices {
            layer[*vertex] = at;
        }
    }
    let mut open = Open { item: group, body, width, height: 0.0, x, layer, rows: Vec::new(), boxes };
    open.down(&sizes);
    open
}

/// The width of the exit of a value from a group; the group's own outputs have a label there.
fn handed(plan: &Plan<'_>, group: ItemId, value: ValueId) -> f64 {
    if plan.scene.items[group].gives.contains(&value) { plan.pills[value].1 } else { PORT }
}

/// A closed box, with labels below it.
fn closed(plan: &Plan<'_>, item: ItemId) -> Placed {
    let card = &plan.cards[item];
    let values = plan.scene.items[item].outgoing();
    let whole: f64 = values.iter().map(|value| plan.pills[*value].1 + BETWEEN).sum::<f64>() - BETWEEN;
    let mut at = -whole / 2.0;
    let leaves = values.into_iter().map(|value| {
        let width = plan.pills[value].1;
        at += width + BETWEEN;
        (value, at - BETWEEN - width / 2.0, true)
    });
    Placed { width: card.width, height: card.height, leaves: leaves.collect(), ..Placed::default() }
}

/// A box with its contents. Values go through its rims where they do in there; those from inside have their labels
/// there.
fn opened(plan: &Plan<'_>, open: Open) -> Placed {
    let gives = &plan.scene.items[open.item].gives;
    let mut placed = Placed { width: open.width, height: open.height, ..Placed::default() };
    for (vertex, x) in open.body.vertices.iter().zip(&open.x) {
        let x = x - open.width / 2.0;
        match vertex {
            Vertex::Take(value) => {
                placed.ports.insert(*value, x);
            }
            Vertex::Hand(value) => placed.leaves.push((*value, x, gives.contains(value))),
            _ => {}
        }
    }
    placed.inside = Some(Box::new(open));
    placed
}

impl Open {
    /// Where a value leaves a vertex, or an edge passes through it.
    pub(super) fn leaves(&self, vertex: usize, value: ValueId) -> f64 {
        let leaves = &self.boxes[vertex].leaves;
        self.x[vertex] + leaves.iter().find(|(of, _, _)| *of == value).map_or(0.0, |(_, x, _)| *x)
    }

    /// Where each piece of an edge ends, in the order of [`Body::segments`].
    pub(super) fn arrivals(&self) -> Vec<f64> {
        let mut ends = vec![0.0; self.body.segments.len()];
        let mut spread: BTreeMap<usize, Vec<(f64, usize)>> = BTreeMap::new();
        for (at, Segment { from, to, value }) in self.body.segments.iter().enumerate() {
            match self.boxes[*to].ports.get(value) {
                Some(x) => ends[at] = self.x[*to] + x,
                None => spread.entry(*to).or_default().push((self.leaves(*from, *value), at)),
            }
        }
        for (vertex, mut pieces) in spread {
            pieces.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let count = pieces.len() as f64 + 1.0;
            for (number, (_, at)) in pieces.into_iter().enumerate() {
                let share = (number as f64 + 1.0) / count - 0.5;
                ends[at] = self.x[vertex] + share * self.boxes[vertex].width;
            }
        }
        ends
    }

    /// Places the layers below each other.
    fn down(&mut self, sizes: &[(f64, f64)]) {
        let arrivals = self.arrivals();
        let mut sideways = vec![0.0f64; self.body.layers.len()];
        for (Segment { from, value, .. }, end) in self.body.segments.iter().zip(&arrivals) {
            let step = (self.leaves(*from, *value) - end).abs();
            let layer = self.layer[*from];
            sideways[layer] = sideways[layer].max(step);
        }
        let mut y = HEAD;
        for (at, vertices) in self.body.layers.iter().enumerate() {
            let height = vertices.iter().map(|vertex| sizes[*vertex].1).fold(0.0, f64::max);
            self.rows.push((y, height));
            y += height;
            if at + 1 < self.body.layers.len() {
                y += (STEP.0 + sideways[at] * STEP.1).min(STEP.2);
            }
        }
        let hands = self.body.vertices.iter().any(|vertex| matches!(vertex, Vertex::Hand(_)));
        self.height = if hands { y } else { y + MARGIN };
    }
}

/// The middle of every vertex: the mean of the two middle ones of four placements, each of which keeps the order and the
/// gaps of all layers, so that it does as well.
fn across(body: &Body, widths: &[f64]) -> Vec<f64> {
    let mut all: Vec<Vec<f64>> = Vec::new();
    let mut narrowest = (f64::INFINITY, 0.0, 0.0);
    for (way, columns) in body.columns.iter().enumerate() {
        let x = pack(body, columns, widths, way % 2 == 1);
        let low = x.iter().zip(widths).map(|(x, w)| x - w / 2.0).fold(f64::INFINITY, f64::min);
        let high = x.iter().zip(widths).map(|(x, w)| x + w / 2.0).fold(f64::NEG_INFINITY, f64::max);
        if high - low < narrowest.0 {
            narrowest = (high - low, low, high);
        }
        all.push(x);
    }
    for (way, x) in all.iter_mut().enumerate() {
        let low = x.iter().zip(widths).map(|(x, w)| x - w / 2.0).fold(f64::INFINITY, f64::min);
        let high = x.iter().zip(widths).map(|(x, w)| x + w / 2.0).fold(f64::NEG_INFINITY, f64::max);
        let shift = if way % 2 == 1 { narrowest.2 - high } else { narrowest.1 - low };
        for x in x {
            *x += shift;
        }
    }
    (0..widths.len())
        .map(|vertex| {
            let mut four: Vec<f64> = all.iter().map(|x| x[vertex]).collect();
            four.sort_by(f64::total_cmp);
            f64::midpoint(four[1], four[2])
        })
        .collect()
}

/// The gap between two neighbours.
fn gap(body: &Body, a: usize, b: usize) -> f64 {
    let bends = [a, b].iter().filter(|at| matches!(body.vertices[**at], Vertex::Bend(_))).count();
    GAPS[bends]
}

/// Packs columns beside each other: as far to the left as they go, and then back to the right as far as those beyond let
/// them, so that they are near to each other; mirrored for `right`.
fn pack(body: &Body, columns: &[usize], widths: &[f64], right: bool) -> Vec<f64> {
    let count = widths.len();
    let mut after: Vec<Vec<(usize, f64)>> = vec![Vec::new(); count];
    let mut waits = vec![0usize; count];
    for layer in &body.layers {
        for pair in layers_of(layer, right).windows(2) {
            let [a, b] = pair else { continue };
            let apart = f64::midpoint(widths[*a], widths[*b]) + gap(body, *a, *b);
            after[columns[*a]].push((columns[*b], apart));
            waits[columns[*b]] += 1;
        }
    }
    let mut order: Vec<usize> = (0..count).filter(|at| columns[*at] == *at && waits[*at] == 0).collect();
    let mut x = vec![0.0f64; count];
    let mut next = 0;
    while let Some(&at) = order.get(next) {
        next += 1;
        for (other, apart) in &after[at] {
            x[*other] = x[*other].max(x[at] + apart);
            waits[*other] -= 1;
            if waits[*other] == 0 {
                order.push(*other);
            }
        }
    }
    for &at in order.iter().rev() {
        let room = after[at].iter().map(|(other, apart)| x[*other] - apart).fold(f64::INFINITY, f64::min);
        if room.is_finite() {
            x[at] = x[at].max(room);
        }
    }
    let sign = if right { -1.0 } else { 1.0 };
    (0..count).map(|at| sign * x[columns[at]]).collect()
}

fn layers_of(layer: &[usize], reversed: bool) -> Vec<usize> {
    let mut layer = layer.to_vec();
    if reversed {
        layer.reverse();
    }
    layer
}
