//! Lowerings of torchaudio's operators.

mod filter;
mod overdrive;

onnxport_sdk::export_plugin! { id: "torchaudio", schemas: include_str!("../schemas.txt") }
