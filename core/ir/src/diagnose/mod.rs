//! What onnxport says about an input: diagnostics with stable codes, and where each comes from.

pub mod code;
mod diagnostic;
pub mod explain;
mod origin;
pub mod render;
mod stack;
mod suggestion;

pub use code::Code;
pub use diagnostic::{Diagnostic, Report, Severity};
pub use explain::{Explanation, explanation};
pub use origin::{Frame, ModuleCall, Origin, OriginId, Origins, Place};
pub use stack::{frames, module_path};
pub use suggestion::{Insert, Subject, Suggestion};
