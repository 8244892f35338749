//! ONNX operators that a model calls by name: `torch.onnx.ops`.

mod native;
mod node;
