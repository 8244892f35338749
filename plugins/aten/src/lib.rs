//! Lowerings of PyTorch's own operators, a module per family.

// The parameters of a lowering are those of the operator's schema.
#![allow(clippy::fn_params_excessive_bools, clippy::too_many_arguments)]

mod activation;
mod attention;
mod cast;
mod complex;
mod control;
mod conv;
mod create;
mod fft;
mod index;
mod linalg;
mod loss;
mod matmul;
mod norm;
mod pointwise;
mod pool;
mod quantize;
mod recurrent;
mod reduce;
mod sort;
mod support;
mod symbolic;
mod symbolic_onnx;
mod upsample;
mod view;

onnxport_sdk::export_plugin! { id: "aten", schemas: include_str!("../schemas.txt") }
