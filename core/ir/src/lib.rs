//! The representation of ONNX models, independent of any file format.
//!
//! - [`ir`] is the graph: arenas, symbolic dimensions, a text form;
//! - [`ops`] defines the semantics of operators: inference and evaluation; [`valid`] checks models;
//! - [`clean`] folds constants, merges common subexpressions and simplifies control flow;
//! - [`equate`] gives dimensions that are equal in every run one name;
//! - [`schedule`] orders nodes to lower peak memory;
//! - [`inline`] replaces calls of local functions;
//! - [`layout`] computes regions of a graph in another layout if that removes transposes;
//! - [`tensor`] holds the data of initializers, which stay on disk until they are written;
//! - [`onnx`] reads ONNX files, [`write`](mod@write) plans, streams and publishes them;
//! - [`trace`] records how long parts of the work take, on request;
//! - [`diagnose`] reports problems, with a stable code and a source line.

// Code that handles outside input never panics; tests may.
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
pub mod library;
mod name;
pub mod onnx;
pub mod op;
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
