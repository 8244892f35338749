//! Linear algebra beyond products.
//!
//! ONNX has no decompositions of matrices. They are loops over rows and columns, for whole batches and any size.

mod determinant;
pub(crate) mod elimination;
mod householder;
mod jacobi;
mod matrix;
pub(crate) mod spectral;
mod square;
mod triangular;
mod vectors;
