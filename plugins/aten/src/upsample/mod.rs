//! Resampling.

mod exact;
mod grid;
mod nearest;
mod resize;
mod smooth;
