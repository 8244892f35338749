//! Choosing weights by name.

use rustc_hash::FxHashMap;
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

/// The weights of the program of which others were made here. Who chooses weights by name means these.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources(FxHashMap<ValueId, Vec<String>>);

impl Sources {
    /// Notes that `made` is made of the weights `names`.
    pub(super) fn note(&mut self, made: ValueId, names: Vec<String>) {
        self.0.insert(made, names);
    }

    /// Whether `patterns` match the weight `value`, which is called `name`, or one of those that it is made of.
    pub(super) fn matches(&self, patterns: &Patterns, value: ValueId, name: &str) -> bool {
        match self.0.get(&value) {
            Some(names) => names.iter().any(|name| patterns.matches(name)),
            None => patterns.matches(name),
        }
    }
}
