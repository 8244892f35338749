//! The rules and passes of every plugin, compiled once when plugins are attached.

mod catalog;
pub(crate) mod pattern;
mod records;
mod text;

pub use catalog::{Catalog, Listed};
pub(crate) use catalog::{Pass, Revision, Rule};
