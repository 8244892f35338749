//! Pictures of graphs, grouped by module: models, exported programs, and rules before and after.
//!
//! A [`Scene`] is the content of a picture: nested boxes ([`tree`]) and the values between them. [`body`] makes a
//! layered graph of the direct members of a group, [`place`] computes positions once the open groups are known, and
//! [`paint`] draws that. A group is one box in the graph around it, open or closed, so that opening one moves its
//! neighbours and nothing else.

mod align;
mod body;
mod card;
mod families;
mod fold;
mod of_model;
mod of_program;
mod order;
mod page;
mod paint;
mod place;
mod scene;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod weights;

pub use fold::Folding;
pub use scene::Scene;

use std::collections::BTreeSet;

use onnxport_core::backend::Placement;
use onnxport_core::ir::Model;
use onnxport_core::program::Program;
use scene::{Item, Kind, Mark, ROOT};

impl Scene {
    fn empty(title: &str) -> Self {
        let root = Item::new(Kind::Whole, title);
        Self { title: title.to_owned(), items: vec![root], ..Self::default() }
    }

    /// The picture of a model. Types that it does not state are inferred, where its opset is one whose types are.
    pub fn model(title: &str, model: &mut Model) -> Self {
        let mut scene = Self::empty(title);
        of_model::add(&mut scene, ROOT, model, &of_model::Marks::default());
        scene.connect();
        scene
    }

    /// The picture of a model before the regions of `placement` are compiled, in their colours.
    pub fn partition(title: &str, model: &mut Model, placement: &Placement) -> Self {
        let mut regions: Vec<&str> = Vec::new();
        let mut marks = of_model::Marks::default();
        for node in &placement.nodes {
            let lines = node.refusals.iter().map(|r| format!("not in {}: {}", r.backend, r.reason));
            let marked = match &node.region {
                Some(region) => {
                    let known = regions.iter().position(|known| known == region);
                    let number = known.unwrap_or(regions.len());
                    if known.is_none() {
                        regions.push(region);
                    }
                    (Mark::Region(number), std::iter::once(format!("region {region}")).chain(lines).collect())
                }
                None => (Mark::Left, lines.collect()),
            };
            marks.insert(node.id, marked);
        }
        let taken = placement.nodes.iter().filter(|node| node.region.is_some()).count();
        let regions =
            if regions.len() == 1 { "1 region".to_owned() } else { format!("{} regions", regions.len()) };
        let title = format!("{title}: {taken} of {} nodes in {regions}", placement.nodes.len());
        let mut scene = Self::empty(&title);
        of_model::add(&mut scene, ROOT, model, &marks);
        scene.connect();
        scene.mark_groups();
        scene
    }

    /// The picture of an exported program.
    pub fn program(title: &str, program: &Program) -> Self {
        let mut scene = Self::empty(title);
        of_program::add(&mut scene, ROOT, program);
        scene.connect();
        scene
    }

    /// Models beside each other, each with a name.
    pub fn beside(title: &str, models: Vec<(String, Model)>) -> Self {
        let mut scene = Self::empty(title);
        for (name, mut model) in models {
            let id = scene.items.len();
            scene.items.push(Item::new(Kind::Graph, name));
            scene.items[ROOT].inside.push(id);
            of_model::add(&mut scene, id, &mut model, &of_model::Marks::default());
        }
        scene.connect();
        scene
    }

    /// Only the module with this path, with its inputs and outputs; the first of several. `None` where there is none.
    pub fn only(&self, path: &str) -> Option<Self> {
        let found =
            self.within(ROOT).into_iter().find(|id| !path.is_empty() && self.items[*id].path == path)?;
        let mut scene = self.clone();
        let module = &self.items[found];
        let (takes, hands) = (module.incoming(), module.outgoing());
        let mut inside = Vec::new();
        for (kind, values) in [(Kind::Input, &takes), (Kind::Output, &hands)] {
            for value in values {
                let mut item = Item::new(kind, self.values[*value].name.clone());
                match kind {
                    Kind::Input => item.gives.push(*value),
                    _ => item.reads.push(*value),
                }
                inside.push(scene.items.len());
                scene.items.push(item);
            }
        }
        let held = if module.is_group() { module.inside.clone() } else { vec![found] };
        inside.splice(takes.len()..takes.len(), held);
        let root = &mut scene.items[ROOT];
        root.title.clone_from(&module.path);
        root.class.clone_from(&module.class);
        for item in &mut scene.items {
            item.takes.clear();
            item.hands.clear();
            (item.elements, item.nodes) = (0, 0);
        }
        for item in &inside {
            scene.items[*item].above = ROOT;
        }
        scene.items[ROOT].inside = inside;
        scene.connect();
        Some(scene)
    }

    /// How many operators it has.
    pub fn nodes(&self) -> usize {
        self.items[ROOT].nodes
    }

    /// The paths of all modules, each once.
    pub fn modules(&self) -> Vec<&str> {
        let (mut paths, mut seen) = (Vec::new(), BTreeSet::new());
        for id in self.within(ROOT) {
            let item = &self.items[id];
            if !item.path.is_empty() && seen.insert(item.path.as_str()) {
                paths.push(item.path.as_str());
            }
        }
        paths
    }
}

/// The picture as SVG, which needs no script.
pub fn svg(scene: &Scene, folding: &Folding) -> String {
    let plan = place::Plan::for_scene(scene);
    let open = place::place(&plan, ROOT, &|item| folding.is_open(item));
    paint::file(&plan, &open)
}

/// The picture as a page, on which groups are opened and closed, and which one can move and search.
pub fn html(scene: &Scene, folding: &Folding) -> String {
    page::page(&place::Plan::for_scene(scene), folding)
}
