//! CUDA as an onnxport executor: models run on a GPU, node by node.
//!
//! Driver, compiler (NVRTC) and matrix library (cuBLAS) are loaded when an executor is opened; nothing of them is needed to
//! build.

mod executor;

pub use executor::CudaExecutor;

onnxport_sdk::export_plugin! { id: "cuda-parity", executor: CudaExecutor }
