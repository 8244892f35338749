//! Choosing weights by name.

use rustc_hash::FxHashMap;
use wildmatch::WildMatch;

use super::PrecisionOptions;
use crate::ir::{Graph, Model, ValueId};

/// Patterns of names, in which `*` matches any text and `?` a character.
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

    /// Returns the patterns that match no weight of `model`.
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

/// The weights to quantise, by their names in the program, even if they have been transformed since.
pub(super) struct Choice<'o> {
    only: &'o Patterns,
    skip: &'o Patterns,
    /// The sources of weights that the converter derived.
    sources: FxHashMap<ValueId, Vec<String>>,
}

impl<'o> Choice<'o> {
    /// Returns the choice of `options`.
    pub(super) fn from_options(options: &'o PrecisionOptions) -> Self {
        let PrecisionOptions { quantise_only: only, quantise_skip: skip, .. } = options;
        Self { only, skip, sources: FxHashMap::default() }
    }

    /// Whether weights are selected by name, instead of all weights of products.
    pub(super) fn is_named(&self) -> bool {
        !self.only.is_empty()
    }

    /// Records that `made` derives from the weights `names`.
    pub(super) fn note(&mut self, made: ValueId, names: Vec<String>) {
        self.sources.insert(made, names);
    }

    /// Whether the weight `value`, which is called `name`, is one of them.
    pub(super) fn has(&self, value: ValueId, name: &str) -> bool {
        let matches = |patterns: &Patterns| match self.sources.get(&value) {
            Some(names) => names.iter().any(|name| patterns.matches(name)),
            None => patterns.matches(name),
        };
        (self.only.is_empty() || matches(self.only)) && !matches(self.skip)
    }
}
