//! Lowerings of torchvision's operators, a module per family.

// The parameters of a lowering are those of the operator's schema.
#![allow(clippy::too_many_arguments)]

mod bins;
mod deform;
mod nms;
mod position;
mod roi;
mod rotated;

onnxport_sdk::export_plugin! { id: "torchvision", schemas: include_str!("../schemas.txt") }
