//! onnxport-ort
