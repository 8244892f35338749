//! The pretend accelerator in ONNX Runtime: a library of custom operators that runs its programs on the CPU.
//!
//! Load it with `SessionOptions.register_custom_ops_library`. A program that lies beside the model is looked
//! for in the folder that the environment variable `NPU_FOLDER` names, else in the current one.

mod operator;
mod ops;
pub mod run;
mod tensor;

pub use tensor::{Data, Tensor};
