//! ONNX protobuf types, generated from `onnx.proto` (ONNX 1.23.2, IR version 13):
//! `UPDATE=1 cargo test -p onnxport-proto`.
//!
//! `bytes` fields are [`bytes::Bytes`], so that a model decoded from a mapped file borrows the file.
#![allow(clippy::all, clippy::pedantic, rustdoc::all)]

include!("generated.rs");
