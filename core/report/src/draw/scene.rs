//! The drawing: nested boxes, and the values that run between them.

use std::collections::BTreeSet;

use super::families::Family;

/// The place of a [`Value`] in [`Scene::values`].
pub(super) type ValueId = usize;
/// The place of an [`Item`] in [`Scene::items`].
pub(super) type ItemId = usize;

/// The item that holds all others.
pub(super) const ROOT: ItemId = 0;

/// A picture before anything has a place.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// Its subject.
    pub title: String,
    pub(super) values: Vec<Value>,
    pub(super) weights: Vec<Weight>,
    pub(super) items: Vec<Item>,
}

/// Something that one item gives and others read.
#[derive(Clone, Debug, Default)]
pub(super) struct Value {
    pub(super) name: String,
    /// Its type, `f32[n, 64]`; empty where it is not known.
    pub(super) label: String,
}

/// Something that is there before the model runs.
#[derive(Clone, Debug)]
pub(super) struct Weight {
    pub(super) name: String,
    /// Its label: the dimensions, or the elements if there are few.
    pub(super) label: String,
    /// How many elements count as parameters: none of axes, shapes and single numbers.
    pub(super) elements: u64,
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The root, which contains the whole picture.
    Whole,
    /// A node.
    Operator(Family),
    /// An input of the surrounding graph.
    Input,
    /// An output of the surrounding graph.
    Output,
    /// The nodes of a module.
    Module,
    /// A node that holds graphs, or calls a function.
    Holder,
    /// A graph that a holder holds, or a picture beside another one.
    Graph,
}

/// A box.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) kind: Kind,
    /// The operator, or the name of the module in the one around it.
    pub(super) title: String,
    /// The class of a module, or another subtitle.
    pub(super) class: String,
    /// The path of a module, or of the one that holds nothing but this node; else empty.
    pub(super) path: String,
    /// The place in a partition of the picture's nodes, if it shows one.
    pub(super) mark: Option<Mark>,
    /// The tooltip.
    pub(super) tip: Vec<String>,
    pub(super) reads: Vec<ValueId>,
    pub(super) gives: Vec<ValueId>,
    /// Places in [`Scene::weights`].
    pub(super) weights: Vec<usize>,
    pub(super) inside: Vec<ItemId>,
    pub(super) above: ItemId,
    /// Values from outside that something inside reads, each once.
    pub(super) takes: Vec<ValueId>,
    /// Values from inside that something outside reads, each once.
    pub(super) hands: Vec<ValueId>,
    /// Parameters of all that is inside.
    pub(super) elements: u64,
    /// Operators of all that is inside.
    pub(super) nodes: usize,
}

/// The place of an item in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// In this region.
    Region(usize),
    /// In several regions, or partly in one.
    Mixed,
    /// In no region.
    Left,
}

impl Mark {
    /// The mark of a group with parts of both.
    pub(super) fn and(self, other: Self) -> Self {
        if self == other { self } else { Self::Mixed }
    }

    /// The class of its colours.
    pub(super) fn class(self) -> String {
        match self {
            Self::Region(number) => format!("region r{}", number % COLOURS),
            Self::Mixed => "mixed".to_owned(),
            Self::Left => "left".to_owned(),
        }
    }
}

/// The number of colours of regions.
const COLOURS: usize = 6;

impl Item {
    pub(super) fn new(kind: Kind, title: impl Into<String>) -> Self {
        Self {
            kind,
            title: title.into(),
            class: String::new(),
            path: String::new(),
            mark: None,
            tip: Vec::new(),
            reads: Vec::new(),
            gives: Vec::new(),
            weights: Vec::new(),
            inside: Vec::new(),
            above: ROOT,
            takes: Vec::new(),
            hands: Vec::new(),
            elements: 0,
            nodes: 0,
        }
    }

    /// Whether it can be opened.
    pub(super) fn is_group(&self) -> bool {
        !self.inside.is_empty()
    }

    /// The values that enter from above: its own inputs, and those of its contents.
    pub(super) fn incoming(&self) -> Vec<ValueId> {
        distinct(self.reads.iter().chain(&self.takes).copied())
    }

    /// The values that others can read: its own outputs, and those of its contents.
    pub(super) fn outgoing(&self) -> Vec<ValueId> {
        distinct(self.gives.iter().chain(&self.hands).copied())
    }
}

/// Each once, in the order in which they come first.
pub(super) fn distinct(values: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    values.filter(|value| seen.insert(*value)).collect()
}

impl Scene {
    /// The items around `item`, the innermost first.
    pub(super) fn around(&self, item: ItemId) -> impl Iterator<Item = ItemId> + '_ {
        let mut at = item;
        std::iter::from_fn(move || {
            if at == ROOT {
                return None;
            }
            at = self.items[at].above;
            Some(at)
        })
    }

    /// `item` and its contents, outer items first.
    pub(super) fn within(&self, item: ItemId) -> Vec<ItemId> {
        let (mut found, mut left) = (Vec::new(), vec![item]);
        while let Some(at) = left.pop() {
            found.push(at);
            left.extend(self.items[at].inside.iter().rev());
        }
        found
    }

    /// Gives every group the mark of its nodes.
    pub(super) fn mark_groups(&mut self) {
        let mut marks: Vec<Option<Mark>> = self.items.iter().map(|item| item.mark).collect();
        for id in self.within(ROOT).into_iter().rev().filter(|id| *id != ROOT) {
            let Some(mark) = marks[id] else { continue };
            let above = self.items[id].above;
            marks[above] = Some(marks[above].map_or(mark, |own| own.and(mark)));
        }
        marks[ROOT] = None;
        for (item, mark) in self.items.iter_mut().zip(marks) {
            item.mark = mark;
        }
    }

    /// Computes the inputs, outputs and size of every group.
    pub(super) fn connect(&mut self) {
        let mut giver: Vec<Option<ItemId>> = vec![None; self.values.len()];
        let all = self.within(ROOT);
        for &at in &all {
            for value in &self.items[at].gives {
                giver[*value] = Some(at);
            }
        }
        let mut takes = vec![BTreeSet::new(); self.items.len()];
        let mut hands = vec![BTreeSet::new(); self.items.len()];
        for &reader in &all {
            for at in 0..self.items[reader].reads.len() {
                let value = self.items[reader].reads[at];
                let Some(giver) = giver[value] else { continue };
                let home: BTreeSet<ItemId> = self.around(giver).collect();
                let inner: Vec<ItemId> =
                    self.around(reader).take_while(|group| !home.contains(group)).collect();
                let meet = inner.last().copied().unwrap_or(reader);
                let meet = self.items[meet].above;
                for group in inner {
                    if takes[group].insert(value) {
                        self.items[group].takes.push(value);
                    }
                }
                let outer: Vec<ItemId> = self.around(giver).take_while(|group| *group != meet).collect();
                for group in outer {
                    if hands[group].insert(value) {
                        self.items[group].hands.push(value);
                    }
                }
            }
        }
        let mut weights: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.items.len()];
        for &at in all.iter().rev() {
            let is_node = matches!(self.items[at].kind, Kind::Operator(_) | Kind::Holder);
            self.items[at].nodes += usize::from(is_node);
            let own: Vec<usize> = self.items[at].weights.clone();
            weights[at].extend(own);
            let sum = weights[at].iter().fold(0u64, |n, w| n.saturating_add(self.weights[*w].elements));
            self.items[at].elements = sum;
            if at != ROOT {
                let above = self.items[at].above;
                let (nodes, held) = (self.items[at].nodes, std::mem::take(&mut weights[at]));
                self.items[above].nodes += nodes;
                weights[above].extend(held);
            }
        }
    }
}
