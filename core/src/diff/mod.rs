//! Two models beside each other: which nodes of the one are which of the other, and what differs.
//!
//! [`Alignment`] pairs nodes by their origin in the program, by names and by what they read; [`diff`] says what was
//! added, removed and changed.

mod align;
mod place;
mod report;
mod structure;

pub use align::{Alignment, How};
pub use place::{Place, metadata};
pub use report::{Change, Changed, Diff, diff};
