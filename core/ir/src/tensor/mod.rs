//! Element types and the bytes behind initializers.
//!
//! A [`LazyTensor`] describes where bytes are and how they are transformed on their way into a file: a [`Source`],
//! a strided view of it, and transforms of that view. Transforms of several tensors ([`Joined`]) form a graph. The
//! length is known before anything is read, and reading works in pieces, within a budget ([`LazyTensor::stream`]).

mod cost;
pub mod data;
mod error;
mod evaluate;
pub mod fault;
mod gather;
mod identity;
pub mod joined;
mod lent;
pub mod mapped;
mod producer;
mod stream;
pub mod strides;
pub(crate) mod threads;
pub mod transform;
mod view;
pub mod zip_index;

#[cfg(test)]
mod tests;

pub use data::{LazyTensor, Source, Unbound};
pub use error::Error;
pub use joined::{Binary, Joined, Operation, Unary};
pub use lent::LentMemory;
pub use mapped::{Checksum, MappedFile};
pub use onnxport_abi::{DType, Kind};
pub use producer::{Produce, Producer};
pub use stream::{Sink, Workspace};
pub use transform::{Derived, Granule, Transform};
pub use view::MAX_RANK;
