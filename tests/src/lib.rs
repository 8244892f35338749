//! onnxport-tests
