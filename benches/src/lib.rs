//! onnxport-benches
