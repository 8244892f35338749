//! The exported program's schema, version 8, as `torch/_export/serde/schema.py` defines it.
//!
//! Names and nesting are PyTorch's, so that the two can be compared line by line. Structures tolerate
//! unknown fields, because minor versions add some; an unknown variant of a union changes the meaning of
//! its parent and is an error.

mod graph;
mod lists;
mod program;
mod scalar;
mod union;

pub(crate) use graph::*;
pub(crate) use lists::{Nodes, TensorValues};
pub(crate) use program::*;
pub(crate) use scalar::{Bound, Float};

/// The supported major version of the schema.
pub(crate) const MAJOR: u32 = 8;
