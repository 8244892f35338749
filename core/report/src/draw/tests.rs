//! Tests on random graphs: invariants of every placement.

use super::body::Vertex;
use super::families::Family;
use super::place::{Open, Plan, place};
use super::scene::{Item, Kind, ROOT, Scene, Value};
use super::text::width;
use super::tree::{Leaf, dotted, grow};
use super::{Folding, html, svg};

/// Numbers that look random and are the same in each run (xorshift).
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// A graph of `count` nodes in modules that are interrupted, called again and nested.
fn scene(seed: u64, count: usize) -> Scene {
    let mut drawn = Drawn(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut scene = Scene::empty("drawn");
    let mut leaves = Vec::new();
    for at in 0..count {
        let item = match at {
            0 | 1 => Item::new(Kind::Input, format!("x{at}")),
            _ if at + 1 == count => Item::new(Kind::Output, "y"),
            _ => Item::new(Kind::Operator(Family::Other), "a".repeat(1 + drawn.below(30))),
        };
        let inputs = if item.kind == Kind::Input { 0 } else { 1 + drawn.below(3) };
        let near = |drawn: &mut Drawn| at - 1 - drawn.below(at).min(drawn.below(at)).min(at - 1);
        let mut reads: Vec<usize> = (0..inputs).map(|_| near(&mut drawn)).collect();
        reads.sort_unstable();
        reads.dedup();
        let mut module = String::new();
        for part in ["m", "layers.1", "b"] {
            if inputs == 0 || item.kind == Kind::Output || drawn.below(4) == 0 {
                break;
            }
            module = format!("{module}.{part}{}", drawn.below(3));
        }
        let gives = if item.kind == Kind::Output { Vec::new() } else { vec![at] };
        scene.values.push(Value { name: format!("v{at}"), label: format!("f32[{}]", "9, ".repeat(at % 7)) });
        leaves.push(Leaf {
            item: scene.items.len(),
            scopes: dotted(&module),
            reads: reads.clone(),
            gives: gives.clone(),
        });
        scene.items.push(Item { reads, gives, ..item });
    }
    grow(&mut scene, ROOT, leaves);
    scene.connect();
    scene
}

fn holds(plan: &Plan<'_>, open: &Open) {
    let scene = plan.scene;
    let body = &open.body;
    for (at, layer) in body.layers.iter().enumerate() {
        let (top, height) = open.rows[at];
        if let Some((next, _)) = open.rows.get(at + 1) {
            assert!(top + height < *next, "layers meet");
        }
        for pair in layer.windows(2) {
            let (left, right) = (pair[0], pair[1]);
            let half = |vertex: usize| {
                let labels = open.boxes[vertex].leaves.iter().filter(|(_, _, labelled)| *labelled);
                let reach = labels.map(|(value, x, _)| x.abs() + plan.pills[*value].1 / 2.0);
                reach.fold(open.boxes[vertex].width / 2.0, f64::max)
            };
            let room = (open.x[right] - half(right)) - (open.x[left] + half(left));
            assert!(room > 8.9, "{left} and {right} are {room} apart");
        }
        for vertex in layer {
            let placed = &open.boxes[*vertex];
            assert!(placed.height <= height + 1e-9);
            assert!(open.x[*vertex] - placed.width / 2.0 > 0.0);
            assert!(open.x[*vertex] + placed.width / 2.0 < open.width);
        }
    }
    // Whatever is read in here is reached, from layer to layer, along its own value.
    for (at, vertex) in body.vertices.iter().enumerate() {
        let reads = match vertex {
            Vertex::Item(item) => scene.items[*item].incoming(),
            Vertex::Hand(value) => vec![*value],
            _ => continue,
        };
        for value in reads {
            let mut here = at;
            loop {
                let found = body.segments.iter().find(|piece| piece.to == here && piece.value == value);
                let piece = found.unwrap_or_else(|| panic!("nothing brings {value} to {vertex:?}"));
                assert_eq!(open.layer[piece.from] + 1, open.layer[piece.to]);
                here = piece.from;
                match body.vertices[here] {
                    Vertex::Bend(of) => assert_eq!(of, value),
                    Vertex::Take(of) => break assert_eq!(of, value),
                    Vertex::Item(item) => break assert!(scene.items[item].outgoing().contains(&value)),
                    Vertex::Hand(_) => panic!("a rim gives nothing"),
                }
            }
        }
    }
    for placed in &open.boxes {
        if let Some(inside) = &placed.inside {
            assert_eq!((placed.width, placed.height), (inside.width, inside.height));
            holds(plan, inside);
        }
    }
}

#[test]
fn nothing_overlaps_and_every_edge_arrives() {
    for seed in 0..120 {
        let scene = scene(seed, 8 + (seed as usize % 60));
        let plan = Plan::for_scene(&scene);
        for depth in [Some(1), Some(2), Some(9), None] {
            let folding = Folding::depth(&scene, depth);
            holds(&plan, &place(&plan, ROOT, &|item| folding.is_open(item)));
        }
    }
}

#[test]
fn all_nodes_are_somewhere_whatever_is_folded() {
    for seed in 0..40 {
        let scene = scene(seed, 50);
        assert_eq!(scene.nodes(), 47);
        let whole = svg(&scene, &Folding::depth(&scene, Some(99)));
        assert_eq!(whole.matches("class=\"item operator").count(), 47);
        let folded = svg(&scene, &Folding::depth(&scene, Some(1)));
        assert!(folded.len() < whole.len());
    }
}

#[test]
fn text_stays_in_its_box() {
    let scene = scene(7, 60);
    let plan = Plan::for_scene(&scene);
    for card in &plan.cards {
        for line in &card.lines {
            assert!(line.style.indent() + line.width + 20.0 <= card.width + 1e-9, "{line:?}");
        }
    }
    for (label, whole) in &plan.pills {
        assert!(width(label, 10.0, false) + 12.0 <= whole + 1e-9);
    }
}

#[test]
fn pictures_are_the_same_each_time() {
    let once = |scene: Scene| {
        let folding = Folding::depth(&scene, Some(2));
        (svg(&scene, &folding), html(&scene, &folding))
    };
    assert_eq!(once(scene(3, 80)), once(scene(3, 80)));
}

#[test]
fn a_name_ends_neither_a_picture_nor_a_page() {
    let mut scene = scene(1, 12);
    let name = "</svg></script><b>\u{0}";
    scene.title = name.to_owned();
    for item in &mut scene.items {
        name.clone_into(&mut item.title);
        item.tip = vec![name.to_owned()];
    }
    let folding = Folding::depth(&scene, None);
    for text in [svg(&scene, &folding), html(&scene, &folding)] {
        assert!(!text.contains("<b>") && !text.contains('\u{0}'));
        assert!(text.matches("</svg>").count() <= 2, "the script has one");
    }
}
