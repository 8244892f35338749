//! The onnxport host: it reads exported programs, normalises them, lowers them through plugins to
//! ONNX, and writes and verifies the result. `pipeline` names the stages in order.

// What comes from outside never panics; tests may.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod arena;
pub mod backend;
pub mod diagnose;
pub(crate) mod graph_access;
pub mod host;
pub mod inspect;
pub mod ir;
pub mod lower;
pub mod normalise;
pub mod onnx;
pub mod optimise;
pub mod pipeline;
pub mod precision;
pub mod program;
pub mod pt2;
pub mod registry;
pub mod sym;
pub mod tensor;
pub(crate) mod text;
pub mod verify;
pub mod weights;
pub mod write;
