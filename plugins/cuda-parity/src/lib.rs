//! CUDA as an onnxport executor and comparer: models run on a GPU, node by node, and tensors are compared there.
//!
//! Driver, compiler (NVRTC) and matrix library (cuBLAS) are loaded when one is opened; nothing of them is needed to
//! build. Options of an executor, of a comparer, and of the process: `device` (its number), `memory` (the most bytes on the
//! device; 0 for as much as needed), `libraries` (the folder of CUDA's libraries) and `nvrtc` (the path of that library; see
//! [`device::nvrtc`] for where it is looked for otherwise). One place opens a device for both: [`device`].

pub mod compare;
#[cfg(test)]
mod compiled;
pub mod device;
mod executor;

use std::path::PathBuf;

pub use compare::Cuda;
pub use executor::CudaExecutor;

onnxport_sdk::export_plugin! { id: "cuda-parity", executor: CudaExecutor, comparer: Cuda, options: Settings }

onnxport_sdk::options! {
    /// Defaults for executors and comparers that are opened without their own options.
    pub struct Settings {
        /// The number of the device, as the driver counts.
        device: usize = 0,
        /// The most bytes of the device's memory that are used at once; 0 for as much as needed.
        memory: usize = 0,
        /// The folder of CUDA's libraries, where they are not found by themselves.
        libraries: Option<PathBuf>,
        /// The NVRTC library, which compiles kernels; otherwise it is searched for.
        nvrtc: Option<PathBuf>,
    }
}

/// Says that a test found no GPU, which is a failure where one has to be there: `cargo xtask gpu` asks for that.
#[cfg(test)]
fn without_a_gpu(why: &str) {
    assert!(std::env::var_os("ONNXPORT_GPU").is_none(), "there is no GPU that can be used: {why}");
    onnxport_harness::note(why);
}
