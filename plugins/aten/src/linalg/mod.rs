//! Linear algebra beyond products.
//!
//! ONNX has no decompositions of matrices. They are loops over rows and columns, for whole batches and any size.

mod determinant;
pub(crate) mod elimination;
mod householder;
pub(crate) mod jacobi;
pub(crate) mod matrix;
pub(crate) mod spectral;
pub(crate) mod square;
pub(crate) mod triangular;
mod vectors;
