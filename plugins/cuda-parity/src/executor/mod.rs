//! An executor on the GPU: a graph is run node by node, with kernels of `kernels/` and code that is generated for chains.
//!
//! [`plan`] and [`ops`] plan the work and need no device; [`device`] is the interface of a device, and [`engine`]
//! and [`frame`] execute plans. Float arithmetic is that of the type, IEEE and without TF32; f16 and bf16 are
//! computed in f32 and rounded once for each operator. Operators without a kernel are evaluated by `onnxport-ir` on
//! the processor, and counted.

mod arena;
mod control;
mod cuda;
mod device;
#[cfg(test)]
mod emulated;
mod engine;
mod frame;
mod gemm;
mod measure;
mod ops;
mod plan;
mod plugin;
mod rehearsal;
mod report;
mod session;
mod source;
#[cfg(test)]
mod tests;
mod value;

pub use plugin::CudaExecutor;
