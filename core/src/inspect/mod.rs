//! The contents of a file as data, for inspection before or after a conversion.

mod forms;
mod kind;
mod model;
mod parts;
mod program;
mod weights;

pub use crate::table::{
    DestinationSummary, PartSummary, ProblemSummary, SharedStorage, SourceSummary, TensorKind, TensorSummary,
    ViewSummary, WeightTable,
};
pub use forms::WeightForm;
pub use kind::FileKind;
pub use model::ModelSummary;
pub use parts::{LargePart, ModelParts, ModuleParts, NodePart, TypeParts, WeightParts};
pub use program::{DimSummary, InputSummary, NORMALISER, OpSummary, ProgramSummary, ValueSummary};
