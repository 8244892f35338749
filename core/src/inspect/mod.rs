//! What a file holds, as data: for people who want to know before they convert or after.

mod kind;
mod model;
mod parts;
mod program;
mod weights;

pub use crate::table::{
    PartSummary, PlaceSummary, ProblemSummary, SharedStorage, SourceSummary, TensorKind, TensorSummary,
    ViewSummary, WeightTable,
};
pub use kind::FileKind;
pub use model::ModelSummary;
pub use parts::{ModelParts, ModuleParts, NodePart, TypeParts};
pub use program::{DimSummary, InputSummary, NORMALISER, OpSummary, ProgramSummary, ValueSummary};
