//! Pictures of numbers, as SVG that needs no script to be seen.

mod bars;
mod points;
mod scale;

pub use bars::{Bar, bars};
pub use points::{Point, Points, State};
