//! onnxport-sdk
