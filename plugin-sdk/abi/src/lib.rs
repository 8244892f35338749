//! onnxport-abi
