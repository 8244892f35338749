//! Compares the structure of two models: pairs their nodes, and lists the differences.
//!
//! [`Alignment`] pairs nodes by their origin in the program, by names and by their inputs; [`diff`] lists the nodes
//! that were added, removed or changed.

mod align;
mod place;
mod report;
mod structure;

pub use align::{Alignment, How};
pub use place::{NodeSite, metadata};
pub use report::{Change, Changed, Diff, diff};
