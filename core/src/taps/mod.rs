//! The values inside of a model, held against those of a reference as they come.
//!
//! A [`Side`] gives intermediate values by their names: a runtime that runs the model, one that runs another model, or
//! what was recorded of PyTorch. [`Taps`] are the places of the one model at which the other side has a value as well, in
//! topological order. [`compare`] asks both sides for them in rounds whose values fit into a bound of memory, and keeps
//! of each pair of values nothing but a [`Row`].
//!
//! What a row may be off is stated in [`growth`].

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
use crate::diff::Place;
use crate::tensor::DType;

pub use cut::{bound, cut};
pub use growth::{FLOOR, GROWTH, unit};
pub use places::{Tap, Taps};
pub use record::Recording;
pub use recorded::Recorded;
pub use rounds::{MEMORY, Round, Rounds, compare};
pub use side::{ModelSide, Side};
pub use tensors::{Distance, distance};

/// What is to be said of a value.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is", content = "why")]
pub enum Verdict {
    /// It is what the reference has, or no farther from it than its inputs and rounding explain.
    Agrees,
    /// It is farther from the reference than its inputs and rounding explain.
    Departs,
    /// It cannot be judged, and why.
    NotJudged(String),
}

/// A value of the model.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Row {
    /// Its name.
    pub value: String,
    /// The name of its counterpart, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counterpart: Option<String>,
    /// The node that computes it.
    #[serde(flatten)]
    pub place: Place,
    /// Element type and extents, `f32[2, 3]`.
    pub got: String,
    /// Those of the counterpart.
    pub expected: String,
    /// How the two differ; `None` where their shapes do.
    pub difference: Option<Difference>,
    /// The largest difference relative to the largest expected magnitude; the share of wrong elements where they are
    /// integers or truth values. 1 where types, shapes or infinities differ.
    pub error: f64,
    /// The largest error among what the node reads.
    pub error_of_inputs: f64,
    /// The error that is no reason for suspicion: see [`growth`].
    pub allowed: f64,
    /// What that makes of it.
    pub verdict: Verdict,
    /// The element type that it has in the model.
    #[serde(skip)]
    pub dtype: Option<DType>,
    /// Whether the counterpart can stand in for it: it has the same shape.
    #[serde(skip)]
    pub is_usable: bool,
    /// Whether its node reads a value whose elements stand in another order than the reference's.
    #[serde(skip)]
    pub reads_reordered: bool,
}

/// The values of a model beside those of a reference.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Report {
    /// What computed the model's values.
    pub model: String,
    /// Where the others come from.
    pub reference: String,
    /// One for each value that has a counterpart, in topological order of the model.
    pub rows: Vec<Row>,
    /// How many values of the main graph have none.
    pub without_counterpart: usize,
    /// In how many rounds the values were asked for.
    pub rounds: usize,
    /// Whether every value with a counterpart was compared; else the search ended before.
    pub complete: bool,
    /// Why values were handed over that were to be compared where they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_in_place: Option<String>,
}
