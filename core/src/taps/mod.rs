//! Intermediate values of a model, compared with those of a reference in rounds.
//!
//! A [`Side`] supplies intermediate values by their names: a runtime that runs the model, one that runs another model,
//! or a recording from PyTorch. [`Taps`] are the values of the model that the other side has as well, in topological
//! order. [`compare`] requests them from both sides in rounds whose values fit into a memory limit, and keeps only a
//! [`Row`] of each pair of values.
//!
//! The bound on the error of a row is defined in [`growth`].

mod cut;
mod growth;
mod places;
mod record;
mod recorded;
mod rounds;
mod side;
mod tensors;

use schemars::JsonSchema;
use serde::Serialize;

use crate::compare::Difference;
use crate::diff::NodeSite;
use crate::tensor::DType;

pub use cut::{bound, cut};
pub use growth::{FLOOR, GROWTH, unit};
pub use places::{Tap, Taps};
pub use record::Recording;
pub use recorded::Recorded;
pub use rounds::{MEMORY, Round, Rounds, compare};
pub use side::{ModelSide, Side};
pub use tensors::{Distance, distance};

/// The verdict on a value.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is", content = "why")]
pub enum Verdict {
    /// It agrees with the reference within the error that its inputs and rounding explain.
    Agrees,
    /// Its error is larger than its inputs and rounding explain.
    Departs,
    /// It cannot be judged, for this reason.
    NotJudged(String),
}

/// A value of the model.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Row {
    /// Its name.
    pub value: String,
    /// The name of its counterpart, if that is different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counterpart: Option<String>,
    /// The node that computes it.
    #[serde(flatten)]
    pub place: NodeSite,
    /// Element type and sizes, `f32[2, 3]`.
    pub got: String,
    /// The element type and sizes of the counterpart.
    pub expected: String,
    /// The difference of the two; `None` if their shapes differ.
    pub difference: Option<Difference>,
    /// The largest difference relative to the largest expected magnitude; the share of wrong elements for integers
    /// and truth values. 1 if types, shapes or infinities differ.
    pub error: f64,
    /// The largest error among the node's inputs.
    pub error_of_inputs: f64,
    /// The largest error that does not raise suspicion: see [`growth`].
    pub allowed: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Its element type in the model.
    #[serde(skip)]
    pub dtype: Option<DType>,
    /// Whether the counterpart can replace it: it has the same shape.
    #[serde(skip)]
    pub is_usable: bool,
    /// Whether its node reads a value whose elements are in another order than the reference's.
    #[serde(skip)]
    pub reads_reordered: bool,
}

/// The values of a model, compared with those of a reference.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Report {
    /// The source of the model's values.
    pub model: String,
    /// The source of the reference's values.
    pub reference: String,
    /// A row for each value that has a counterpart, in topological order of the model.
    pub rows: Vec<Row>,
    /// The number of values of the main graph without a counterpart.
    pub without_counterpart: usize,
    /// The number of rounds.
    pub rounds: usize,
    /// Whether every value with a counterpart was compared; otherwise the search ended earlier.
    pub complete: bool,
    /// The reason why values that should have been compared in place were transferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_in_place: Option<String>,
}
