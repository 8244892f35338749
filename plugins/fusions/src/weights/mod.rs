//! Folding into weights: norms with known statistics, scales and biases around convolutions and products.
//! Weights are made when the model is written, in f64, and rounded once.

mod affine;
mod norms;
mod scales;
mod sums;
