//! Resampling.

mod grid;
mod nearest;
mod resize;
mod smooth;
