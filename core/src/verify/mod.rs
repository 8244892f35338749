//! Runs a written model on recorded and drawn calls and judges what comes out.

mod apart;
mod branches;
mod codes;
mod executor;
mod expected;
mod indices;
mod made;
mod place;
pub mod python;
mod reference;
mod report;
mod run;
mod samples;
mod source;
mod values;

pub use crate::compare::{Comparer, Difference, Tolerance};
pub use crate::host::discard;
pub use crate::onnx::{Extent, Port, Signature, State};
pub use apart::{Apart, serve};
pub use branches::NotEntered;
pub use executor::{Executor, Feed, Output, Runtime, Session};
pub use expected::{Against, Case, Expected, Source};
pub use reference::Reference;
pub use report::{CaseReport, OutputReport, TensorReport, Verification};
pub use run::{Options, verify};
