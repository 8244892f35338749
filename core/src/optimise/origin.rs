//! The origins of rewritten nodes: all nodes that they replace.

use rustc_hash::FxHashMap;

use crate::Name;
use crate::diagnose::{CallSite, ModuleCall, Origin, OriginId, Origins};

/// A chain of rewrites merges and merges again; of the parts of an origin this many are named.
const MAX_PARTS: usize = 32;

/// The number of replaced nodes that a name lists.
const MAX_NODES: usize = 3;

/// Merged origins, so that equal ones are created once.
#[derive(Debug, Default)]
pub(super) struct Merged {
    known: FxHashMap<Vec<OriginId>, OriginId>,
}

impl Merged {
    /// Returns one origin for the replacement of `parts`; its source lines are those of the first.
    pub(super) fn of(
        &mut self,
        origins: &mut Origins,
        parts: impl Iterator<Item = OriginId>,
    ) -> Option<OriginId> {
        let mut unique: Vec<OriginId> = Vec::new();
        for part in parts {
            if !unique.contains(&part) {
                unique.push(part);
            }
        }
        match unique[..] {
            [] => None,
            [only] => Some(only),
            [first, ..] => Some(*self.known.entry(unique.clone()).or_insert_with(|| {
                let all: Vec<&Origin> = unique.iter().map(|id| origins.get(*id)).collect();
                let node = joined('+', MAX_NODES, all.iter().map(|o| o.node.as_str()));
                let place = CallSite {
                    target: joined('+', MAX_PARTS, all.iter().map(|o| o.target.as_str())).into(),
                    module: common(all.iter().map(|o| o.module.as_str())).into(),
                    class: Name::new(),
                    modules: shared(all.iter().map(|o| &*o.modules)).into(),
                    trace: origins.get(first).trace.clone(),
                    frames: origins.get(first).frames.clone(),
                };
                let printed = unique.iter().filter_map(|id| origins.printed(*id));
                let printed = joined('\n', MAX_PARTS, printed.map(Name::as_str));
                let merged = origins.push(Origin::new(node, place));
                if !printed.is_empty() {
                    origins.print(merged, printed);
                }
                merged
            })),
        }
    }
}

/// Joins the first texts, each once; a previously merged text is split into its parts.
fn joined<'a>(sign: char, most: usize, texts: impl Iterator<Item = &'a str>) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in texts.flat_map(|text| text.split(sign)).filter(|part| !part.is_empty()) {
        if parts.len() == most {
            break;
        }
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.join(sign.encode_utf8(&mut [0; 4]))
}

/// Returns the module calls that enclose all of them.
pub(super) fn shared<'a>(mut stacks: impl Iterator<Item = &'a [ModuleCall]>) -> Vec<ModuleCall> {
    let mut shared = stacks.next().map(<[ModuleCall]>::to_vec).unwrap_or_default();
    for stack in stacks {
        let equal = shared.iter().zip(stack).take_while(|(a, b)| a == b).count();
        shared.truncate(equal);
    }
    shared
}

/// Returns the path of the innermost common module.
fn common<'a>(mut paths: impl Iterator<Item = &'a str>) -> String {
    let Some(first) = paths.next() else { return String::new() };
    let mut shared: Vec<&str> = first.split('.').collect();
    for path in paths {
        let equal = shared.iter().zip(path.split('.')).take_while(|(a, b)| **a == *b).count();
        shared.truncate(equal);
    }
    shared.join(".")
}

#[cfg(test)]
mod tests {
    use super::Merged;
    use crate::diagnose::{CallSite, Origin, Origins};

    #[test]
    fn everything_that_was_replaced_is_named() {
        let mut origins = Origins::default();
        let mut add = |node: &str, module: &str| {
            let target = format!("aten.{node}.default").into();
            origins.push(Origin::new(node, CallSite { target, module: module.into(), ..CallSite::default() }))
        };
        let (a, b, c) = (add("relu", "layer.0.act"), add("conv", "layer.0.conv"), add("add", "layer.1"));
        let d = add("mul", "layer.1");
        let mut merged = Merged::default();
        let one = merged.of(&mut origins, [a, b, a].into_iter()).unwrap();
        assert_eq!(merged.of(&mut origins, [a, b].into_iter()), Some(one));
        assert_eq!(origins.get(one).node, "relu+conv");
        assert_eq!(origins.get(one).module, "layer.0");
        let two = merged.of(&mut origins, [one, c, b].into_iter()).unwrap();
        assert_eq!(origins.get(two).node, "relu+conv+add");
        assert_eq!(origins.get(two).target, "aten.relu.default+aten.conv.default+aten.add.default");
        assert_eq!(origins.get(two).module, "layer");
        assert_eq!(merged.of(&mut origins, [c].into_iter()), Some(c));
        let three = merged.of(&mut origins, [two, d].into_iter()).unwrap();
        assert_eq!(origins.get(three).node, "relu+conv+add", "names stay short");
        assert!(origins.get(three).target.ends_with("+aten.mul.default"));
        assert_eq!(merged.of(&mut origins, std::iter::empty()), None);
    }
}
