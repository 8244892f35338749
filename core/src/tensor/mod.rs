//! Element types and the bytes behind initializers.

pub mod data;
pub mod dtype;
pub mod mapped;

pub use data::{LazyTensor, Source};
pub use dtype::{DType, Kind};
pub use mapped::MappedFile;
