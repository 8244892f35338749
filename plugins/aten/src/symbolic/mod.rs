//! Arithmetic on symbolic numbers, and numbers out of tensors. Every result has the shape `[1]`.
//!
//! The host computes what it knows as an expression of extents; what arrives here are numbers that
//! depend on data, floats and truth values.

mod arithmetic;
mod functions;
mod tensor;
