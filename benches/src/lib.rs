//! The cost of conversions: compared with `torch.onnx.export`, and as programs grow.
//!
//! [`chain`] generates programs of any length and [`llama`] programs with any number of bytes of
//! weights, also for tests.

pub mod chain;
pub mod llama;
