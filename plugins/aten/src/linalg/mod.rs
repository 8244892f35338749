//! Linear algebra beyond products.
//!
//! ONNX has no decompositions of matrices. They are loops over rows and columns, for whole batches and any size.

mod determinant;
mod eigen;
pub(crate) mod elimination;
pub(crate) mod entries;
mod householder;
mod jacobi;
mod ldl;
pub(crate) mod matrix;
mod spectral;
pub(crate) mod square;
pub(crate) mod triangular;
mod vectors;

pub(crate) use spectral::singular_values;
