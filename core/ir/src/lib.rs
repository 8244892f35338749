//! ONNX models as values, without any of the formats that they come from.
//!
//! - [`ir`] is the graph: arenas, symbolic dimensions, a text form;
//! - [`ops`] is what operators mean: inference and evaluation; [`valid`] checks that a model is one;
//! - [`clean`] takes away what is known before a model runs, and what is computed twice;
//! - [`equate`] gives dimensions that every run needs to be equal one name;
//! - [`schedule`] orders nodes so that less memory is alive at once;
//! - [`inline`] replaces calls of local functions;
//! - [`layout`] computes parts of a graph in another layout, where that takes transposes away;
//! - [`tensor`] holds the bytes behind initializers, which stay on disk until they are written;
//! - [`onnx`] reads ONNX files, [`write`](mod@write) plans, streams and publishes them;
//! - [`trace`] records how long parts of the work take, for whoever asks;
//! - [`diagnose`] says what is wrong, with a stable code and the line that it comes from.

// What comes from outside never panics; tests may.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod arena;
pub mod clean;
pub mod diagnose;
pub mod equate;
pub mod files;
pub mod inline;
pub mod interpreter;
pub mod ir;
#[allow(clippy::indexing_slicing, reason = "places of nodes, and axes that are held against ranks")]
pub mod layout;
mod name;
pub mod onnx;
#[allow(clippy::indexing_slicing, reason = "kernels of operators, which check shapes first")]
pub mod ops;
pub mod python;
mod quote;
pub mod random;
#[allow(clippy::indexing_slicing, reason = "places of nodes and buffers, which it counts itself")]
pub mod schedule;
mod state;
pub mod sym;
pub mod table;
pub mod tensor;
pub mod text;
pub mod tidy;
pub mod trace;
pub mod valid;
pub mod write;

pub use name::Name;
