//! Profiles: how long the parts of a model take in a runtime, by operator, node, module and source line.
//!
//! [`measure()`] runs models with a runtime that records the time of each of its nodes ([`events`]), and maps each to a
//! node of the model ([`attribute`]): runtimes fuse nodes and add others. Unmapped nodes are reported separately.
//! [`compare()`] lists the differences between two profiles that exceed the variation among the runs of each.

mod attribute;
mod compare;
mod events;
mod measure;
mod optimised;
mod places;
mod rows;
mod saved;
#[cfg(test)]
mod tests;
mod times;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use compare::{Change, Changes, Verdict, compare};
pub use measure::{Subject, measure};
pub use rows::Row;
pub use times::Times;

/// The version of the data.
const FORMAT: u32 = 1;

/// How long the parts of a model took in a runtime. Times are in microseconds of wall time.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The version of this data.
    pub format: u32,
    /// The file name of the model.
    pub model: String,
    /// The executor, without its folder.
    pub executor: String,
    /// The number of measured runs.
    pub runs: usize,
    /// Whole runs.
    pub total: Times,
    /// The part of them outside nodes.
    pub between: Times,
    /// The source of the modules of nodes.
    pub modules_from: ModulesFrom,
    /// The shares of time by kind of evidence.
    pub attributed: Attributed,
    /// The nodes that the runtime ran, in order.
    pub nodes: Vec<NodeTimes>,
    /// By operator, as the runtime calls it; the slowest first, as in all lists.
    pub operators: Vec<Row>,
    /// By module.
    pub modules: Vec<Row>,
    /// By line of the user's code.
    pub lines: Vec<Row>,
}

/// The source of the modules of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModulesFrom {
    /// The metadata of nodes.
    Metadata,
    /// Names of nodes in the form of paths.
    Names,
    /// No source.
    Nothing,
}

/// Shares of the medians of all nodes, between 0 and 1, by the evidence for the node of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Attributed {
    /// The node kept its name.
    pub name: f64,
    /// It computes a value of the model.
    pub value: f64,
    /// Its name derives from that of a node.
    pub derived: f64,
    /// It was added next to such nodes.
    pub neighbour: f64,
    /// There is no evidence.
    pub none: f64,
}

/// The evidence for the node of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It kept its name.
    Name,
    /// It computes a value of the model.
    Value,
    /// Its name derives from that of a node.
    Derived,
    /// It was added next to such a node.
    Neighbour,
}

/// The times of a node of the runtime.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NodeTimes {
    /// Its name in the runtime.
    pub name: String,
    /// Its operator in the runtime.
    pub operator: String,
    /// The runtime's component that runs it, such as `CPUExecutionProvider`.
    pub provider: String,
    /// The corresponding node of the model.
    pub node: Option<String>,
    /// The evidence for it.
    pub how: Option<How>,
    /// The path of the module of that node, with dots; empty for the root, and if it is unknown.
    pub module: String,
    /// The class of the module; may be empty.
    pub class: String,
    /// The line of the user's code, `folder/file.py:12`; may be empty.
    pub line: String,
    /// The number of executions in a run.
    pub calls: usize,
    /// The total times, without the nodes of its bodies.
    pub times: Times,
    /// The same for each run.
    pub runs: Vec<f64>,
}

impl Profile {
    /// Whether nodes name modules.
    pub fn knows_modules(&self) -> bool {
        self.modules_from != ModulesFrom::Nothing
    }

    /// Whether nodes name lines of the user's code.
    pub fn knows_lines(&self) -> bool {
        self.nodes.iter().any(|node| !node.line.is_empty())
    }

    /// Reads a profile that was written as JSON: the document itself, or the key `profile` of an object.
    ///
    /// # Errors
    /// `OP101` if the file cannot be read, `OP713` if it holds no profile.
    pub fn read(path: &std::path::Path) -> Result<Self, crate::diagnose::Diagnostic> {
        saved::read(path)
    }
}
