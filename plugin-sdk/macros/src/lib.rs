//! onnxport-macros
