//! The commands of `onnxport`: argument parsing, progress and rendering. The work itself is in `onnxport-core`.
//!
//! [`main()`] is the program: it owns the process, with its signals, its panics and its standard streams. [`command`]
//! and [`Export`] do the same work inside another program, and leave the state of the process alone.

mod again;
mod args;
mod backends;
mod caller;
mod commands;
mod config;
mod crash;
mod deadline;
mod decomposing;
mod describe;
mod dispatch;
mod documents;
mod embedded;
mod ending;
mod exit;
mod format;
mod global;
mod guests;
mod known;
mod options;
mod outcome;
mod plugins;
mod precision;
mod process;
mod progress;
mod render;
mod sandbox;
mod scratch;
mod signals;
mod sizes;
mod target;
mod tensors;
mod truncated;
mod usage;
mod version;

pub use again::started_by;
pub use describe::describe;
pub use embedded::{Exported, Exporting, command, optimize, page, verify};
pub use exit::Exit;
pub use guests::{Guests, with_caller, with_guests};
pub use outcome::Outcome;
pub use plugins::link;
pub use process::main;
pub use progress::{Now, Watch};
