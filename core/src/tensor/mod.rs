//! Element types and the bytes behind initializers.

pub mod data;
pub mod fault;
pub mod mapped;

pub use data::{LazyTensor, Source, Unbound};
pub use mapped::MappedFile;
pub use onnxport_abi::{DType, Kind};
