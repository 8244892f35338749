//! Lowerings of PyTorch's own operators, a module per family.

mod activation;
mod cast;
mod create;
mod loss;
mod pointwise;
mod support;
mod symbolic;
mod view;

onnxport_sdk::export_plugin! { id: "aten", schemas: include_str!("../schemas.txt") }
