//! The lowerings of operators: `(operator, opset, complex or real) → provider`.

use std::collections::BTreeMap;

/// One lowering of one operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The plugin, by position in the host's list.
    pub plugin: usize,
    /// The entry in the plugin's table.
    pub entry: u32,
    /// The lowest opset at which it is right.
    pub min_opset: u32,
    /// The highest opset at which it is right.
    pub max_opset: u32,
    /// The highest is used.
    pub priority: i32,
    /// Whether it takes complex tensors.
    pub complex: bool,
}

/// Which plugin the user wants for an operator.
pub type Choice = BTreeMap<String, usize>;

/// The answer to a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// This one.
    Use(Provider),
    /// Two plugins offer the operator at the same priority, and the user chose neither.
    Conflict(Provider, Provider),
    /// There are lowerings, but for other opsets.
    OtherOpset(Provider),
    /// There are lowerings, but for real tensors only.
    RealOnly(Provider),
    /// No plugin offers the operator.
    Missing,
}

/// Every lowering of every plugin.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    providers: BTreeMap<String, Vec<Provider>>,
}

impl Registry {
    /// Adds a lowering of `target`.
    pub fn add(&mut self, target: &str, provider: Provider) {
        self.providers.entry(target.to_owned()).or_default().push(provider);
    }

    /// Every operator with its lowerings, sorted by operator.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[Provider])> {
        self.providers.iter().map(|(target, providers)| (target.as_str(), providers.as_slice()))
    }

    /// The lowerings of `target`.
    pub fn providers(&self, target: &str) -> &[Provider] {
        self.providers.get(target).map_or(&[], Vec::as_slice)
    }

    /// Finds the provider of `target` at `opset`: the user's choice, then the highest priority.
    pub fn resolve(&self, target: &str, opset: i64, complex: bool, choice: &Choice) -> Resolved {
        let Some(all) = self.providers.get(target) else { return Resolved::Missing };
        let in_range = |p: &&Provider| (i64::from(p.min_opset)..=i64::from(p.max_opset)).contains(&opset);
        let chosen = choice.get(target);
        let mut fitting: Vec<&Provider> = all
            .iter()
            .filter(in_range)
            .filter(|p| p.complex || !complex)
            .filter(|p| chosen.is_none_or(|plugin| p.plugin == *plugin))
            .collect();
        // A lowering for exactly this case (complex or real) precedes one that also accepts it.
        fitting.sort_by_key(|p| (p.complex != complex, std::cmp::Reverse(p.priority)));
        match fitting.as_slice() {
            [first, second, ..]
                if first.complex == second.complex
                    && first.priority == second.priority
                    && first.plugin != second.plugin =>
            {
                Resolved::Conflict(**first, **second)
            }
            [first, ..] => Resolved::Use(**first),
            [] => match (all.iter().find(in_range), all.first()) {
                (Some(real), _) => Resolved::RealOnly(*real),
                (None, Some(other)) => Resolved::OtherOpset(*other),
                (None, None) => Resolved::Missing,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Provider, Registry, Resolved};

    fn provider(plugin: usize, priority: i32) -> Provider {
        Provider { plugin, entry: 0, min_opset: 18, max_opset: 20, priority, complex: false }
    }

    #[test]
    fn choice_then_priority_then_conflict() {
        let mut registry = Registry::default();
        let (low, high, rival) = (provider(0, 0), provider(1, 5), provider(2, 5));
        registry.add("x.op.default", low);
        registry.add("x.op.default", high);
        let none = Choice::new();
        assert_eq!(registry.resolve("x.op.default", 18, false, &none), Resolved::Use(high));
        registry.add("x.op.default", rival);
        assert_eq!(registry.resolve("x.op.default", 18, false, &none), Resolved::Conflict(high, rival));
        let choice = Choice::from([("x.op.default".to_owned(), 0)]);
        assert_eq!(registry.resolve("x.op.default", 18, false, &choice), Resolved::Use(low));
        assert_eq!(registry.resolve("x.op.default", 21, false, &none), Resolved::OtherOpset(low));
        assert_eq!(registry.resolve("x.op.default", 18, true, &none), Resolved::RealOnly(low));
        assert_eq!(registry.resolve("x.other.default", 18, false, &none), Resolved::Missing);
    }
}
