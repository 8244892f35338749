//! The rules and passes of every plugin, compiled once when plugins are attached.

mod catalog;
mod class;
mod names;
mod overlap;
pub(crate) mod pattern;
mod text;
mod tree;

pub use catalog::{Catalog, Listed};
pub(crate) use catalog::{Pass, Rule};
pub use class::{Bound, Class};
pub use names::{Names, names};
pub use overlap::overlaps;
pub(crate) use text::parse;
