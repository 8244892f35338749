//! The onnxport host: it reads exported programs, normalises them, lowers them through plugins to
//! ONNX, and writes and verifies the result. `pipeline` names the stages in order.

// What comes from outside never panics; tests may.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod backend;
pub(crate) mod graph_access;
pub mod host;
pub mod inspect;
pub mod lower;
pub mod meta;
pub mod normalise;
pub mod optimise;
pub mod pipeline;
pub mod precision;
pub mod program;
pub mod pt2;
pub mod registry;
pub(crate) mod rules;
pub mod session;
pub mod verify;
pub mod weights;

pub(crate) use onnxport_ir::{arena, table, text};
pub use onnxport_ir::{diagnose, ir, onnx, sym, tensor, write};
