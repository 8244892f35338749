//! Lowerings of PyTorch's own operators, a module per family.

mod pointwise;
mod view;

onnxport_sdk::export_plugin! { id: "aten", schemas: include_str!("../schemas.txt") }
