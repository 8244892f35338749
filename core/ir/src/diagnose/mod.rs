//! Diagnostics about an input, with stable codes and the origin of each.

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
pub use origin::{CallSite, Frame, ModuleCall, Origin, OriginId, Origins};
pub use stack::{frames, module_path};
pub use suggestion::{Insert, Subject, Suggestion};
