//! The exported program's schema, version 8, as `torch/_export/serde/schema.py` defines it.
//!
//! Names and nesting are PyTorch's, so that the two can be compared line by line. Structures
//! tolerate fields that they do not know, because minor versions add some; a variant of a union that
//! is not known changes the meaning of what holds it and is an error.

mod graph;
mod lists;
mod program;
mod scalar;
mod union;

pub(crate) use graph::*;
pub(crate) use lists::{Nodes, TensorValues};
pub(crate) use program::*;
pub(crate) use scalar::{Bound, Float};

/// The major version of the schema that is read.
pub(crate) const MAJOR: u32 = 8;
