//! onnxport-aten
