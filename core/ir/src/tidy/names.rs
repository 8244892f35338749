//! Names of weights and of weights derived from them.

use ecow::eco_format;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::{Graph, ValueId};
use crate::name::Name;

/// The suffix of a weight that is stored transposed.
const TURNED: &str = ".T";

/// The suffix of a weight whose values differ from those of the program's weight.
const FOLDED: &str = ".folded";

/// Returns the name of the transposed weight `name`, so that nobody who binds weights by the program's names
/// mistakes it.
pub fn transposed(name: &str) -> Name {
    if name.ends_with(FOLDED) || name.ends_with(TURNED) {
        return folded(name);
    }
    eco_format!("{name}{TURNED}")
}

/// Returns the name of a weight derived from `name`.
pub fn folded(name: &str) -> Name {
    let plain = name.strip_suffix(FOLDED).or_else(|| name.strip_suffix(TURNED)).unwrap_or(name);
    eco_format!("{plain}{FOLDED}")
}

/// Returns the name of the weight that `name` was derived from: without `.T` or `.folded` and anything after
/// either.
pub fn underived(name: &str) -> &str {
    let derived = |at: &(usize, &str)| {
        let rest = name.get(at.0 + at.1.len()..).unwrap_or_default();
        rest.is_empty() || (rest.starts_with('_') && !rest.contains('.'))
    };
    let found =
        [TURNED, FOLDED].into_iter().filter_map(|mark| name.rmatch_indices(mark).next()).find(derived);
    found.and_then(|(at, _)| name.get(..at)).unwrap_or(name)
}

/// Numbers initializers that share a name with an earlier one, because several may be derived from one weight. A
/// dead initializer gives up its name.
pub fn names(graph: &mut Graph) {
    let mut seen: FxHashSet<Name> = FxHashSet::default();
    let mut twice: Vec<(ValueId, Name)> = Vec::new();
    let mut idle: Vec<(ValueId, Name)> = Vec::new();
    for initializer in &graph.initializers {
        let value = initializer.value;
        let Some(name) = graph.values[value].name.clone().filter(|name| !name.is_empty()) else { continue };
        if !graph.is_read(value) {
            idle.push((value, name));
        } else if !seen.insert(name.clone()) {
            twice.push((value, name));
        }
    }
    for (value, name) in idle {
        if !seen.insert(name) {
            graph.values[value].name = None;
        }
    }
    let mut taken: FxHashSet<Name> =
        graph.values.iter().filter_map(|(_, value)| value.name.clone()).collect();
    let mut next: FxHashMap<Name, u32> = FxHashMap::default();
    for (value, name) in twice {
        let number = next.entry(name.clone()).or_insert(1);
        let free = loop {
            let candidate = eco_format!("{name}_{number}");
            *number = number.saturating_add(1);
            if taken.insert(candidate.clone()) {
                break candidate;
            }
        };
        graph.values[value].name = Some(free);
    }
}

#[cfg(test)]
mod tests {
    use super::underived;

    #[test]
    fn a_derived_weight_leads_to_its_own() {
        for derived in ["a.weight", "a.weight.T", "a.weight.folded", "a.weight.folded_1", "a.weight.T_scale"]
        {
            assert_eq!(underived(derived), "a.weight", "{derived}");
        }
        for own in ["a.Tensor.weight", "a.T_net.weight", "a.folded.bias", "T"] {
            assert_eq!(underived(own), own);
        }
    }
}
