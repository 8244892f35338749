//! The error of a tensor against its expected value: the measure behind every verdict.
//!
//! A [`Comparison`] takes tensors in chunks and knows every element type; a [`Comparer`] is a plugin that does the
//! same. Both return a [`Difference`].

mod chosen;
mod comparer;
mod comparison;
mod difference;
mod element;
mod sums;
mod tally;
mod tolerance;

#[cfg(test)]
mod tests;

pub use chosen::Chosen;
pub(crate) use comparer::stated;
pub use comparer::{Begun, Comparer};
pub(crate) use comparison::extents;
pub use comparison::{Comparison, compare};
pub use difference::{Difference, Spread, Wrong, decade_edges};
pub(crate) use element::text;
pub use tolerance::Tolerance;
