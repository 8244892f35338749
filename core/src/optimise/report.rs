//! What optimising did, as data.

use serde::Serialize;

/// How often a rule or pass was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The plugin.
    pub plugin: String,
    /// The rule or pass.
    pub name: String,
    /// How many patches of it were applied; 1 for a pass that changed something.
    pub applied: usize,
}

/// What became of a rule or pass at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Its patch was applied.
    Applied,
    /// Its pattern does not fit.
    NoMatch,
    /// It refused by itself.
    Refused,
    /// Its patch was not sound.
    Rejected,
    /// It says something about a place.
    Note,
}

/// Why a rule was applied at a place, or was not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The plugin.
    pub plugin: String,
    /// The node, in words.
    pub node: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The reason; empty for what was applied.
    pub reason: String,
}

/// What optimising did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Optimised {
    /// Per rule and pass that was applied, in the order of the plugins.
    pub counts: Vec<Count>,
    /// How many patches were applied, passes included.
    pub applied: usize,
    /// How many nodes were computed in advance, because they hang on constants alone.
    pub folded: usize,
    /// How many times the rules went through the graph.
    pub sweeps: usize,
    /// Whether it ended early because the user asked for it.
    pub stopped: bool,
    /// The places at which the rule was tried that the user asked about.
    pub places: Vec<Place>,
}
