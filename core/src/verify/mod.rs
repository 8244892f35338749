//! Runs a written model on recorded calls and judges what comes out.

mod codes;
pub mod compare;
mod comparer;
mod executor;
mod expected;
mod made;
mod place;
pub mod python;
mod report;
mod run;
mod samples;
mod source;

pub use crate::onnx::{Extent, Port, Signature, State};
pub use compare::{Difference, Tolerance, Wrong};
pub use comparer::Comparer;
pub use executor::discard;
pub use executor::{Executor, Feed, Output, Runtime, Session};
pub use expected::{Against, Case, Expected};
pub use report::{CaseReport, OutputReport, TensorReport, Verification};
pub use run::{Options, verify};
