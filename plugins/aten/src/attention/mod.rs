//! Attention.

mod encoder;
mod product;
