//! Arithmetic on symbolic numbers, and numbers out of tensors. Every result has the shape `[1]`.
//!
//! The host computes expressions of sizes itself; the arguments here are numbers that
//! depend on data, floats and truth values.

mod arithmetic;
mod functions;
mod tensor;
