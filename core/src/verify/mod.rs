//! Runs a written model on recorded and drawn calls and judges what comes out.

mod apart;
mod bind;
mod branches;
pub(crate) mod child;
mod codes;
mod draw;
mod executor;
mod expected;
mod floor;
mod indices;
pub(crate) mod inputs;
mod judge;
mod made;
mod model;
mod nature;
mod place;
mod reference;
mod report;
mod run;
mod samples;
mod several;
mod source;
mod values;

pub use crate::compare::{Chosen, Difference, Tolerance};
pub use crate::host::discard;
pub use crate::onnx::{Extent, Port, Signature, State};
pub use apart::{Apart, serve};
pub use branches::NotEntered;
pub use draw::{Drawing, Rule};
pub use executor::{Executor, Feed, Output, Runtime, Session};
pub use expected::{Against, Case, Expected, Floors, Source};
pub use floor::{Floor, MULTIPLE};
pub use nature::Nature;
pub use reference::{InProcess, Reference, SCRIPT};
pub use report::{CaseReport, Judged, OutputReport, TensorReport, Verification};
pub use run::{Options, verify};
