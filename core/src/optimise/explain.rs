//! The record of the rule that the user asks about.

use std::fmt::Write;

use super::report::{Outcome, RuleDecision};
use crate::ir::{Model, NodeId};

/// The places at which one rule or pass was tried.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// The rule or pass; nothing is remembered without one.
    pub(super) name: Option<String>,
    /// The places, with the number of the sweep (0 before the first) for those where it was not applied.
    places: Vec<(Option<usize>, RuleDecision)>,
    sweep: usize,
}

impl Journal {
    pub(super) fn new(name: Option<String>) -> Self {
        Self { name, ..Self::default() }
    }

    /// Whether the user asks about `name`.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name)
    }

    /// Begins a sweep, which retries the places where the rule was not applied.
    pub(super) fn sweep(&mut self, number: usize) {
        self.sweep = number;
        self.places.retain(|(sweep, _)| sweep.is_none_or(|sweep| sweep == 0));
    }

    /// Records the outcome of the rule or pass at a node.
    pub(super) fn add(&mut self, plugin: &str, node: String, outcome: Outcome, reason: String) {
        let lasting = matches!(outcome, Outcome::Applied | Outcome::Note | Outcome::Rejected);
        let place = RuleDecision { plugin: plugin.to_owned(), node, outcome, reason };
        self.places.push(((!lasting).then_some(self.sweep), place));
    }

    pub(super) fn finish(self) -> Vec<RuleDecision> {
        self.places.into_iter().map(|(_, place)| place).collect()
    }
}

/// Describes a node in reports: its operator, its origin, and the module.
pub(super) fn place(model: &Model, id: NodeId) -> String {
    let node = &model.graph.nodes[id];
    let mut text = match node.domain.as_str() {
        "" => node.op.to_string(),
        domain => format!("{domain}::{}", node.op),
    };
    let origin = node.origin.filter(|o| o.index() < model.origins.len()).map(|o| model.origins.get(o));
    let name = node.outputs.iter().flatten().find_map(|v| model.graph.values[*v].name.as_deref());
    // Writing to a String cannot fail.
    match (origin, name) {
        (Some(origin), _) if !origin.node.is_empty() => {
            let _ = write!(text, " of `{}`", origin.node);
        }
        (_, Some(name)) => {
            let _ = write!(text, " that makes `{name}`");
        }
        _ => {}
    }
    if let Some(origin) = origin.filter(|o| !o.module.is_empty()) {
        let _ = write!(text, " in {}", origin.module);
    }
    text
}
