//! What a conversion costs: beside `torch.onnx.export`, and as programs grow.
//!
//! [`chain`] generates programs of any length, also for tests.

pub mod chain;
