//! What optimising did, as data.

use schemars::JsonSchema;
use serde::Serialize;

use super::matched::Matched;
use super::memory::Memory;

/// How often a rule or pass was applied.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Count {
    /// The plugin.
    pub plugin: String,
    /// The rule or pass.
    pub name: String,
    /// How many patches of it were applied; 1 for a pass that changed something.
    pub applied: usize,
    /// By how many nodes the graph grew through it on balance; less than 0 where it became smaller. What hangs on
    /// nothing any more goes later, and is not counted here.
    pub nodes: i64,
}

/// What became of a rule or pass at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
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
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct Optimised {
    /// How many nodes there were, nested ones included.
    pub before: usize,
    /// How many there are.
    pub after: usize,
    /// Per rule and pass that was applied, in the order of the plugins.
    pub counts: Vec<Count>,
    /// How many patches were applied, passes included.
    pub applied: usize,
    /// How many nodes were computed in advance, because they hang on constants alone, or compute sizes that are known.
    pub folded: usize,
    /// How many nodes went because an earlier one computes the same.
    pub merged: usize,
    /// How many branches and loops went because their course is known.
    pub decided: usize,
    /// How many calls of local functions were replaced by what these compute.
    pub inlined: usize,
    /// How many calls of local functions stand for what was there several times in a row.
    pub outlined: usize,
    /// How many nodes compute in another layout, so that transposes went.
    pub turned: usize,
    /// How many times the rules went through the graph.
    pub sweeps: usize,
    /// What the order of nodes comes to; null where nobody asked for one.
    pub memory: Option<Memory>,
    /// Whether it ended early because the user asked for it.
    pub stopped: bool,
    /// The places at which the rule was tried that the user asked about.
    pub places: Vec<Place>,
    /// What rules matched and put there, where that was asked for.
    #[serde(skip)]
    pub matches: Vec<Matched>,
}

impl Optimised {
    /// Whether the optimizer did not run.
    pub fn is_none(&self) -> bool {
        self.before == 0
            && self.sweeps == 0
            && self.applied == 0
            && self.folded == 0
            && self.turned == 0
            && self.inlined == 0
            && self.outlined == 0
    }
}
