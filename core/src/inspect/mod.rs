//! What a file holds, as data: for people who want to know before they convert or after.

mod model;
mod program;

pub use model::ModelSummary;
pub use program::{DimSummary, InputSummary, NORMALISER, OpSummary, ProgramSummary, ValueSummary};
