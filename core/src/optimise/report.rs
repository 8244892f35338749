//! The record of the optimizer, as data.

use schemars::JsonSchema;
use serde::Serialize;

use super::matched::Matched;
use super::memory::Memory;
use super::unused::Unused;
use crate::functions::ModuleFunction;

/// The applications of a rule or pass.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Count {
    /// The plugin.
    pub plugin: String,
    /// The rule or pass.
    pub name: String,
    /// The number of its applied patches; 1 for a pass that changed something.
    pub applied: usize,
    /// The net number of nodes that it added; negative if the graph became smaller. Nodes that became unused are
    /// removed later, and are not counted here.
    pub nodes: i64,
}

/// The outcome of a rule or pass at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Its patch was applied.
    Applied,
    /// Its pattern does not fit.
    NoMatch,
    /// The plugin refused.
    Refused,
    /// Its patch was unsound.
    Rejected,
    /// A note about a node.
    Note,
}

/// The reason why a rule was applied at a node, or was not.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct RuleDecision {
    /// The plugin.
    pub plugin: String,
    /// The node, in words.
    pub node: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The reason; empty if it was applied.
    pub reason: String,
}

/// The record of the optimizer.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct Optimised {
    /// The number of nodes before, nested ones included.
    pub before: usize,
    /// The number of nodes after.
    pub after: usize,
    /// The applied rules and passes, in the order of the plugins.
    pub counts: Vec<Count>,
    /// The number of applied patches, passes included.
    pub applied: usize,
    /// The number of nodes removed by constant folding, including computations of known sizes.
    pub folded: usize,
    /// The number of nodes removed because an earlier one computes the same value.
    pub merged: usize,
    /// The number of branches and loops removed because their conditions are known.
    pub decided: usize,
    /// The number of inlined calls of local functions.
    pub inlined: usize,
    /// The number of calls of local functions that replaced repeated stretches of nodes.
    pub outlined: usize,
    /// The functions that stand for modules of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<ModuleFunction>,
    /// The number of nodes converted to another layout, which removed transposes.
    pub layouts: usize,
    /// The number of sweeps of the rules.
    pub sweeps: usize,
    /// The effect of reordering the nodes; null if it was not requested.
    pub memory: Option<Memory>,
    /// Whether it ended early at the user's limit.
    pub stopped: bool,
    /// The nodes at which the rule that the user asked about was tried.
    pub places: Vec<RuleDecision>,
    /// The rules that would be applied for a named target, or at a higher opset.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<Unused>,
    /// The matches of rules with their replacements, if requested.
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
            && self.layouts == 0
            && self.inlined == 0
            && self.outlined == 0
            && self.functions.is_empty()
    }

    /// Adds the record of a later run of the rules on the same model.
    pub(super) fn absorb(&mut self, later: Self) {
        for count in later.counts {
            let same = |c: &&mut Count| (&c.plugin, &c.name) == (&count.plugin, &count.name);
            match self.counts.iter_mut().find(same) {
                Some(before) => {
                    before.applied += count.applied;
                    before.nodes += count.nodes;
                }
                None => self.counts.push(count),
            }
        }
        self.applied += later.applied;
        self.folded += later.folded;
        self.merged += later.merged;
        self.decided += later.decided;
        self.sweeps += later.sweeps;
        self.places.extend(later.places);
        self.matches.extend(later.matches);
        let known: Vec<_> = self.unused.iter().map(|unused| unused.name.clone()).collect();
        self.unused.extend(later.unused.into_iter().filter(|unused| !known.contains(&unused.name)));
    }
}
