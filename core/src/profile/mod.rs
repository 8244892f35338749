//! How long the parts of a model take in a runtime: by operator, by node, by module and by line of the user's code.
//!
//! [`measure()`] runs models with a runtime that writes how long each of its nodes took ([`events`]), and finds the node of
//! the model that each belongs to ([`attribute`]): runtimes fuse nodes and add others. What belongs to none is counted as
//! that. [`compare()`] says what of two profiles differs by more than the runs of each among themselves.

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
    /// What ran it, without the folder that it lies in.
    pub executor: String,
    /// Runs that were measured.
    pub runs: usize,
    /// Whole runs.
    pub total: Times,
    /// What of them was spent in no node.
    pub between: Times,
    /// What tells which module a node belongs to.
    pub modules_from: ModulesFrom,
    /// How the time of nodes was attributed.
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

/// What tells which module a node belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModulesFrom {
    /// The metadata of nodes.
    Metadata,
    /// Names of nodes that are paths.
    Names,
    /// Nothing.
    Nothing,
}

/// Shares of the medians of all nodes, between 0 and 1, by what tells the node of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Attributed {
    /// The node kept its name.
    pub name: f64,
    /// It computes a value of the model.
    pub value: f64,
    /// Its name was made from that of a node.
    pub derived: f64,
    /// It was added beside such nodes.
    pub neighbour: f64,
    /// Nothing does.
    pub none: f64,
}

/// What tells the node of the model that a node of the runtime stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It kept its name.
    Name,
    /// It computes a value of the model.
    Value,
    /// Its name was made from that of a node.
    Derived,
    /// It was added beside such a node.
    Neighbour,
}

/// How long a node of the runtime took.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NodeTimes {
    /// What the runtime calls it.
    pub name: String,
    /// Its operator, as the runtime calls it.
    pub operator: String,
    /// What of the runtime runs it, such as `CPUExecutionProvider`.
    pub provider: String,
    /// The node of the model that it stands for.
    pub node: Option<String>,
    /// What tells so.
    pub how: Option<How>,
    /// The path of the module of that node, with dots; empty for the root, and where nothing is known.
    pub module: String,
    /// The class of the module; may be empty.
    pub class: String,
    /// The line of the user's code, `folder/file.py:12`; may be empty.
    pub line: String,
    /// How often it ran in a run.
    pub calls: usize,
    /// How long it took in all, without the nodes of its bodies.
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

    /// Reads a profile that was written as JSON: by itself, or as `profile` of an object.
    ///
    /// # Errors
    /// `OP101` when the file cannot be read, `OP713` when it holds no profile.
    pub fn read(path: &std::path::Path) -> Result<Self, crate::diagnose::Diagnostic> {
        saved::read(path)
    }
}
