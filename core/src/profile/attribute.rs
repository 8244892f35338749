//! Maps each node of a runtime to a node of the model.
//!
//! Runtimes keep the names of unchanged nodes. A fused node computes the value of the last of the nodes that it
//! replaces, or is named after one of them; it is attributed to the one among them that has its operator, as for a
//! convolution that absorbed an activation. Nodes that the runtime adds, to change layouts and shapes, are counted with
//! the node that reads their result, else with the one that they read.

use rustc_hash::{FxHashMap, FxHashSet};

use super::How;
use super::events::Node;
use super::optimised::Optimised;
use super::places::Places;

/// The limit on consecutive nodes that are fused into one.
const FUSED: usize = 8;

/// Prefixes that ONNX Runtime adds to names.
const BEFORE: [&str; 3] = ["fused ", "InsertedPrecisionFreeCast_", "InsertedCast_"];

/// Suffixes that it adds.
const BEHIND: [&str; 2] = ["_nchwc", "_quant"];

/// Returns the node of the model for each node that ran, and the evidence for it.
pub(super) fn attribute(
    ran: &[Node],
    places: &Places,
    made: Option<&Optimised>,
) -> Vec<Option<(usize, How)>> {
    let at = made.map_or_else(|| vec![None; ran.len()], |made| made.places(ran));
    let computed = |at: usize| made?.nodes.get(at)?.output.iter().find_map(|value| places.making(value));
    let kept: FxHashSet<usize> = ran.iter().filter_map(|node| places.named(&node.name)).collect();
    let itself = |(node, at): (&Node, &Option<usize>)| {
        let leading = |found: usize| leading(found, &node.operator, places, &kept);
        let by_name = || places.named(&node.name).map(|found| (found, How::Name));
        let by_value = || at.and_then(computed).map(|found| (leading(found), How::Value));
        let derived =
            || stems(&node.name).find_map(|stem| places.named(stem).or_else(|| places.making(stem)));
        by_name().or_else(by_value).or_else(|| derived().map(|found| (leading(found), How::Derived)))
    };
    let mut found: Vec<_> = ran.iter().zip(&at).map(itself).collect();
    if let Some(made) = made {
        neighbours(made, &at, &mut found);
    }
    found
}

/// Returns the nearest node from which `operator` is made, among the node at `found` and the fused nodes before it.
fn leading(found: usize, operator: &str, places: &Places, kept: &FxHashSet<usize>) -> usize {
    let is_it = |at: &usize| {
        let own = places.all.get(*at).map_or("", |place| &place.operator);
        !own.is_empty() && operator.contains(own)
    };
    let (mut row, mut seen) = (vec![found], FxHashSet::from_iter([found]));
    for _ in 0..FUSED {
        if let Some(leading) = row.iter().copied().find(is_it) {
            return leading;
        }
        let before = row.iter().flat_map(|at| places.read_by(*at)).copied();
        row = before.filter(|at| !kept.contains(at) && seen.insert(*at)).collect();
    }
    found
}

/// Returns the names from which `name` may derive, longest first.
fn stems(name: &str) -> impl Iterator<Item = &str> {
    let first = BEFORE.iter().find_map(|before| name.strip_prefix(before));
    std::iter::successors(Some(first.unwrap_or(name)), |name| {
        let behind = BEHIND.iter().find_map(|behind| name.strip_suffix(behind));
        let token = || {
            let (stem, number) = name.rsplit_once("_token_")?;
            (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(stem)
        };
        let step = || name.rsplit_once('/').map(|(stem, _)| stem);
        behind.or_else(token).or_else(step).filter(|stem| !stem.is_empty())
    })
}

/// Attributes unmapped nodes to the nodes of their neighbours.
fn neighbours(made: &Optimised, at: &[Option<usize>], found: &mut [Option<(usize, How)>]) {
    let mut known: Vec<Option<usize>> = vec![None; made.nodes.len()];
    for (at, found) in at.iter().zip(&*found) {
        if let (Some(slot), Some((node, _))) = (at.and_then(|at| known.get_mut(at)), found) {
            *slot = Some(*node);
        }
    }
    let mut readers: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    let mut makers: FxHashMap<&str, usize> = FxHashMap::default();
    for (at, node) in made.nodes.iter().enumerate() {
        for value in node.input.iter().filter(|value| !value.is_empty()) {
            readers.entry(value).or_default().push(at);
        }
        makers.extend(node.output.iter().filter(|value| !value.is_empty()).map(|value| (value.as_str(), at)));
    }
    // Nodes are in topological order: readers come later, inputs earlier.
    for (at, node) in made.nodes.iter().enumerate().rev() {
        let mut reading = node.output.iter().filter_map(|value| readers.get(value.as_str())).flatten();
        let first = reading.find_map(|reader| known.get(*reader).copied().flatten());
        if let Some(slot) = known.get_mut(at) {
            *slot = slot.or(first);
        }
    }
    for (at, node) in made.nodes.iter().enumerate() {
        let mut read = node.input.iter().filter_map(|value| makers.get(value.as_str()));
        let first = read.find_map(|maker| known.get(*maker).copied().flatten());
        if let Some(slot) = known.get_mut(at) {
            *slot = slot.or(first);
        }
    }
    for (at, found) in at.iter().zip(found) {
        let beside = at.and_then(|at| known.get(at).copied().flatten());
        *found = found.or(beside.map(|node| (node, How::Neighbour)));
    }
}

#[cfg(test)]
mod tests {
    use super::stems;

    #[test]
    fn names_are_made_of_others() {
        let all = |name: &'static str| stems(name).collect::<Vec<_>>();
        assert_eq!(all("relu__nchwc"), ["relu__nchwc", "relu_"]);
        assert_eq!(all("fused conv"), ["conv"]);
        assert_eq!(all("a/Conv_token_12"), ["a/Conv_token_12", "a/Conv", "a"]);
        assert_eq!(
            all("mul/MatMulScaleFusion//MatmulTransposeFusion/"),
            [
                "mul/MatMulScaleFusion//MatmulTransposeFusion/",
                "mul/MatMulScaleFusion//MatmulTransposeFusion",
                "mul/MatMulScaleFusion/",
                "mul/MatMulScaleFusion",
                "mul"
            ]
        );
        assert_eq!(all("x_token_"), ["x_token_"]);
    }
}
