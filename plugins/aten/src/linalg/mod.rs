//! Linear algebra beyond products.

mod determinant;
mod square;
mod vectors;
