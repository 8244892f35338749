//! Activation functions.

mod gated;
mod linear;
mod smooth;
