//! Choosing weights by name.

use wildmatch::WildMatch;

use crate::ir::{Graph, Model, ValueId};

/// Patterns of names, in which `*` stands for any text and `?` for a character.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    patterns: Vec<String>,
}

impl Patterns {
    /// These patterns.
    pub fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        Self { patterns: patterns.into_iter().collect() }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether one of them matches.
    pub fn matches(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| WildMatch::new(pattern).matches(name))
    }

    /// The patterns that match no weight of `model`.
    pub(super) fn unmatched<'a>(&'a self, model: &Model) -> Vec<&'a str> {
        let names: Vec<&str> = weights(&model.graph).map(|(_, name)| name).collect();
        let unmatched = |pattern: &&String| {
            let pattern = WildMatch::new(pattern);
            !names.iter().any(|name| pattern.matches(name))
        };
        self.patterns.iter().filter(unmatched).map(String::as_str).collect()
    }
}

/// The parameters and buffers of the main graph, with their names.
pub(super) fn weights(graph: &Graph) -> impl Iterator<Item = (ValueId, &str)> {
    graph.initializers.iter().filter(|initializer| initializer.weight).map(|initializer| {
        let name = graph.values[initializer.value].name.as_deref();
        (initializer.value, name.unwrap_or_default())
    })
}
