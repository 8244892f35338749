//! How far off a result may be by rounding alone.

use super::alone::shaken;
use crate::run::Computed;
use crate::taps::{FLOOR, distance, unit};

/// How many times what a change of the inputs in their last places does to a result is explained by rounding.
const SENSITIVITY: f64 = 16.0;

/// The inputs, those that are rounded changed in their last places.
pub(super) fn all_shaken(inputs: &[Computed]) -> Vec<Computed> {
    inputs.iter().map(|input| shaken(input).unwrap_or_else(|| input.clone())).collect()
}

/// What rounding explains of `result`, relative to its largest magnitude: some units for each of `nodes`, and so many
/// times what it moved when the inputs were shaken, where that is known.
pub(super) fn explained(result: &Computed, moved: Option<&Computed>, nodes: usize) -> f64 {
    let found = moved.map(|moved| distance(moved, result)).filter(|found| {
        // What stops being a number says nothing about rounding.
        found.difference.as_ref().is_some_and(|difference| difference.not_finite == 0)
    });
    let sensitivity = found.map_or(0.0, |found| found.error);
    FLOOR * unit(result.dtype) * nodes.max(1) as f64 + SENSITIVITY * sensitivity
}
