//! Nodes become the boxes of modules.
//!
//! The nodes of a module need not stand together: one that is called twice, or that calls back, has nodes before and
//! after those of others, so that boxes would wait for each other in a circle. Such modules come in several boxes, as few
//! as an order of the nodes allows.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;
use rustc_hash::FxHashMap;

use super::scene::{Item, ItemId, Kind, Scene, ValueId, distinct};

/// More levels of modules than this are not told apart.
const DEEPEST: usize = 48;

/// A module around a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Scope {
    /// Its path.
    pub(super) path: String,
    /// Its name in the module around it.
    pub(super) name: String,
    /// Its class; empty where it is not known.
    pub(super) class: String,
}

/// An item that no module has taken up yet.
pub(super) struct Leaf {
    pub(super) item: ItemId,
    /// The modules around it, the outermost first.
    pub(super) scopes: Vec<Scope>,
    /// The values that it or its contents read from outside.
    pub(super) reads: Vec<ValueId>,
    pub(super) gives: Vec<ValueId>,
}

/// Modules by their path with dots: each part is one, but for numbers, which belong to the list before them.
pub(super) fn dotted(path: &str) -> Vec<Scope> {
    let parts: Vec<&str> = path.split('.').filter(|part| !part.is_empty()).collect();
    let mut scopes: Vec<Scope> = Vec::new();
    let mut from = 0;
    for (at, _) in parts.iter().enumerate() {
        let next_is_number = parts.get(at + 1).is_some_and(|next| next.bytes().all(|b| b.is_ascii_digit()));
        if next_is_number {
            continue;
        }
        scopes.push(Scope {
            path: parts[..=at].join("."),
            name: parts[from..=at].join("."),
            class: String::new(),
        });
        from = at + 1;
    }
    scopes
}

/// A list of more modules than this is a box of its own around them.
const LIST: usize = 12;

/// Puts boxes of their own around long lists, of which a program names the members only.
fn lists(leaves: &mut [Leaf]) {
    let mut members: FxHashMap<String, BTreeSet<String>> = FxHashMap::default();
    let list = |scope: &Scope| {
        let (name, number) = scope.name.rsplit_once('.')?;
        let path = scope.path.strip_suffix(number)?.strip_suffix('.')?;
        number
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| (path.to_owned(), name.to_owned(), number.to_owned()))
    };
    for scope in leaves.iter().flat_map(|leaf| &leaf.scopes) {
        if let Some((path, _, number)) = list(scope) {
            members.entry(path).or_default().insert(number);
        }
    }
    members.retain(|_, numbers| numbers.len() > LIST);
    for leaf in leaves.iter_mut().filter(|_| !members.is_empty()) {
        for mut scope in std::mem::take(&mut leaf.scopes) {
            if let Some((path, name, number)) = list(&scope)
                && let Some(all) = members.get(&path)
            {
                leaf.scopes.push(Scope { path, name, class: format!("{} modules", all.len()) });
                scope.name = number;
            }
            leaf.scopes.push(scope);
        }
    }
}

/// Puts `leaves`, in topological order, into `group`, with boxes for their modules.
pub(super) fn grow(scene: &mut Scene, group: ItemId, mut leaves: Vec<Leaf>) {
    lists(&mut leaves);
    let mut left = vec![(group, leaves, 0)];
    while let Some((group, leaves, depth)) = left.pop() {
        for (scope, part, of) in parts(leaves, depth) {
            let Some(scope) = scope else {
                for leaf in part {
                    scene.items[leaf.item].above = group;
                    scene.items[group].inside.push(leaf.item);
                }
                continue;
            };
            if let [leaf] = part.as_slice()
                && let Some(inner) = leaf.scopes.last()
            {
                // A box around one box says nothing: the node is called after its modules as well.
                let item = &mut scene.items[leaf.item];
                item.path.clone_from(&inner.path);
                let names: Vec<&str> = leaf.scopes[depth..].iter().map(|scope| scope.name.as_str()).collect();
                let said = [names.join("."), item.class.clone()].join(" ");
                said.trim_end().clone_into(&mut item.class);
                item.above = group;
                scene.items[group].inside.push(leaf.item);
                continue;
            }
            let mut item = Item::new(Kind::Module, scope.name.clone());
            scope.class.rsplit('.').next().unwrap_or_default().clone_into(&mut item.class);
            item.tip = [&scope.path, &scope.class].into_iter().filter(|t| !t.is_empty()).cloned().collect();
            item.path = scope.path;
            if let Some((number, all)) = of {
                let said = format!("{} part {number} of {all}", item.class);
                said.trim_start().clone_into(&mut item.class);
            }
            item.above = group;
            let id = scene.items.len();
            scene.items.push(item);
            scene.items[group].inside.push(id);
            left.push((id, part, depth + 1));
        }
    }
}

/// A part of a group: the module, its nodes, and which of several parts of the module it is.
type Part = (Option<Scope>, Vec<Leaf>, Option<(usize, usize)>);

/// The boxes of a group, none of which waits for another in a circle.
fn parts(leaves: Vec<Leaf>, depth: usize) -> Vec<Part> {
    let mut keys: Vec<Option<Scope>> = Vec::new();
    let mut known: FxHashMap<Scope, usize> = FxHashMap::default();
    let mut key_of = Vec::with_capacity(leaves.len());
    for leaf in &leaves {
        let scope = leaf.scopes.get(depth).filter(|_| depth < DEEPEST);
        let key = match scope {
            Some(scope) => *known.entry(scope.clone()).or_insert_with(|| {
                keys.push(Some(scope.clone()));
                keys.len() - 1
            }),
            None => {
                keys.push(None);
                keys.len() - 1
            }
        };
        key_of.push(key);
    }
    let edges = edges(&leaves);
    let mut graph: DiGraph<(), ()> = DiGraph::with_capacity(keys.len(), edges.len());
    for _ in &keys {
        graph.add_node(());
    }
    let between: BTreeSet<(usize, usize)> = edges.iter().map(|(a, b)| (key_of[*a], key_of[*b])).collect();
    for (a, b) in between {
        if a != b {
            graph.add_edge((a as u32).into(), (b as u32).into(), ());
        }
    }
    // The number of the part that each leaf belongs to, per key.
    let mut part_of = vec![0; leaves.len()];
    let mut counts = vec![1; keys.len()];
    for circle in tarjan_scc(&graph).into_iter().filter(|found| found.len() > 1) {
        let inside: BTreeSet<usize> = circle.into_iter().map(petgraph::graph::NodeIndex::index).collect();
        cut(&inside, &key_of, &edges, &mut part_of, &mut counts);
    }
    let mut at: FxHashMap<(usize, usize), usize> = FxHashMap::default();
    let mut found: Vec<Part> = Vec::new();
    for ((leaf, key), part) in leaves.into_iter().zip(key_of).zip(part_of) {
        let place = *at.entry((key, part)).or_insert_with(|| {
            let of = (counts[key] > 1).then_some((part + 1, counts[key]));
            found.push((keys[key].clone(), Vec::new(), of));
            found.len() - 1
        });
        found[place].1.push(leaf);
    }
    found
}

/// Pairs of leaves of which the second reads the first.
fn edges(leaves: &[Leaf]) -> Vec<(usize, usize)> {
    let mut giver: FxHashMap<ValueId, usize> = FxHashMap::default();
    for (at, leaf) in leaves.iter().enumerate() {
        giver.extend(leaf.gives.iter().map(|value| (*value, at)));
    }
    let mut edges = Vec::new();
    for (at, leaf) in leaves.iter().enumerate() {
        let from = leaf.reads.iter().filter_map(|value| giver.get(value).copied()).filter(|from| *from != at);
        edges.extend(distinct(from).into_iter().map(|from| (from, at)));
    }
    edges
}

/// Cuts the modules in `circle` into parts: an order of their leaves that stays in a module as long as it can, and prefers
/// one that it need not leave again, is a row of parts.
fn cut(
    circle: &BTreeSet<usize>,
    key_of: &[usize],
    edges: &[(usize, usize)],
    part_of: &mut [usize],
    counts: &mut [usize],
) {
    let mut waits: FxHashMap<usize, usize> = FxHashMap::default();
    let mut left: FxHashMap<usize, usize> = FxHashMap::default();
    let mut readers: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for (at, key) in key_of.iter().enumerate().filter(|(_, key)| circle.contains(key)) {
        waits.insert(at, 0);
        *left.entry(*key).or_default() += 1;
    }
    for (a, b) in edges {
        if waits.contains_key(a)
            && let Some(count) = waits.get_mut(b)
        {
            *count += 1;
            readers.entry(*a).or_default().push(*b);
        }
    }
    // The leaves that can be placed next, by module.
    let mut ready: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (at, _) in waits.iter().filter(|(_, count)| **count == 0) {
        ready.entry(key_of[*at]).or_default().insert(*at);
    }
    for key in circle {
        counts[*key] = 0;
    }
    loop {
        // A module of which all that is left can be taken now, without any other; else the one whose first leaf stands
        // first.
        let mut choices: Vec<(bool, usize, usize)> = Vec::new();
        for (key, first) in &ready {
            let Some(least) = first.first() else { continue };
            let whole = first.len() == left[key]
                || run(first, *key, key_of, &readers, &mut waits.clone()).len() == left[key];
            choices.push((!whole, *least, *key));
            if first.len() == left[key] {
                break;
            }
        }
        let Some((_, _, key)) = choices.into_iter().min() else { return };
        let first = ready.remove(&key).unwrap_or_default();
        let taken = run(&first, key, key_of, &readers, &mut waits);
        for at in &taken {
            part_of[*at] = counts[key];
        }
        if let Some(count) = left.get_mut(&key) {
            *count -= taken.len();
        }
        counts[key] += 1;
        for next in taken.iter().flat_map(|at| readers.get(at).into_iter().flatten()) {
            if waits.get(next) == Some(&0) && key_of[*next] != key {
                ready.entry(key_of[*next]).or_default().insert(*next);
            }
        }
    }
}

/// The leaves of `key` that follow from `first` alone; `waits` is how many each leaf still waits for.
fn run(
    first: &BTreeSet<usize>,
    key: usize,
    key_of: &[usize],
    readers: &FxHashMap<usize, Vec<usize>>,
    waits: &mut FxHashMap<usize, usize>,
) -> Vec<usize> {
    let (mut taken, mut left) = (Vec::new(), first.clone());
    while let Some(at) = left.pop_first() {
        taken.push(at);
        for next in readers.get(&at).into_iter().flatten() {
            if let Some(count) = waits.get_mut(next) {
                *count -= 1;
                if *count == 0 && key_of[*next] == key {
                    left.insert(*next);
                }
            }
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(item: usize, module: &str, reads: &[usize]) -> Leaf {
        Leaf { item, scopes: dotted(module), reads: reads.to_vec(), gives: vec![item] }
    }

    fn shown(leaves: Vec<Leaf>) -> Vec<(String, Vec<usize>)> {
        let name = |scope: Option<Scope>| scope.map_or(String::new(), |scope| scope.name);
        let parts = parts(leaves, 0).into_iter();
        parts.map(|(scope, part, _)| (name(scope), part.iter().map(|leaf| leaf.item).collect())).collect()
    }

    #[test]
    fn numbers_belong_to_the_list_before_them() {
        let names: Vec<String> = dotted("model.layers.3.attn").into_iter().map(|scope| scope.name).collect();
        assert_eq!(names, ["model", "layers.3", "attn"]);
        assert_eq!(dotted("0.1").len(), 1);
        assert!(dotted("").is_empty());
    }

    #[test]
    fn long_lists_are_boxes() {
        let mut leaves: Vec<Leaf> = (0..20).map(|n| leaf(n, &format!("m.layers.{n}.fc"), &[])).collect();
        lists(&mut leaves);
        let names = |leaf: &Leaf| leaf.scopes.iter().map(|scope| scope.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&leaves[7]), ["m", "layers", "7", "fc"]);
        assert_eq!(leaves[7].scopes[1].class, "20 modules");
        lists(&mut leaves[..5]);
        assert_eq!(leaves[3].scopes.len(), 4, "nothing is done twice");
    }

    #[test]
    fn a_module_is_one_box_where_it_can_be() {
        // The other branch is computed in between, and in the order of the file a module is interrupted.
        let found =
            shown(vec![leaf(0, "a", &[]), leaf(1, "b", &[0]), leaf(2, "a", &[0]), leaf(3, "b", &[2, 1])]);
        assert_eq!(found, [("a".to_owned(), vec![0, 2]), ("b".to_owned(), vec![1, 3])]);
    }

    #[test]
    fn a_module_that_is_called_twice_is_two_boxes() {
        let found = shown(vec![
            leaf(0, "a", &[]),
            leaf(1, "a", &[0]),
            leaf(2, "b", &[1]),
            leaf(3, "a", &[2]),
            leaf(4, "a", &[]),
        ]);
        let a = "a".to_owned();
        assert_eq!(found, [(a.clone(), vec![0, 1, 4]), ("b".to_owned(), vec![2]), (a, vec![3])]);
    }
}
