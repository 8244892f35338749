//! Tensors out of numbers: filled, counted, triangular, random.

mod count;
mod fill;
mod random;
mod triangle;
mod window;
