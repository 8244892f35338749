//! Bounds on the error of a result that rounding alone explains.

use super::alone::shaken;
use crate::run::Computed;
use crate::taps::{FLOOR, distance, unit};

/// The multiple of the effect of a last-place perturbation of the inputs that counts as rounding.
const SENSITIVITY: f64 = 16.0;

/// Returns the inputs with a last-place perturbation of those that are rounded.
pub(super) fn all_shaken(inputs: &[Computed]) -> Vec<Computed> {
    inputs.iter().map(|input| shaken(input).unwrap_or_else(|| input.clone())).collect()
}

/// Returns the relative error of `result` that rounding explains: some units for each of `nodes`, plus a multiple of
/// the effect of perturbed inputs, if that is known.
pub(super) fn explained(result: &Computed, moved: Option<&Computed>, nodes: usize) -> f64 {
    let found = moved.map(|moved| distance(moved, result)).filter(|found| {
        // A value that became infinite or NaN says nothing about rounding.
        found.difference.as_ref().is_some_and(|difference| difference.not_finite == 0)
    });
    let sensitivity = found.map_or(0.0, |found| found.error);
    FLOOR * unit(result.dtype) * nodes.max(1) as f64 + SENSITIVITY * sensitivity
}
