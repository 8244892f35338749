//! Statistics over the times of several runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The median of several runs, and the bounds of their middle half. In microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// The median.
    pub median: f64,
    /// A quarter of the runs took less.
    pub low: f64,
    /// A quarter of the runs took more.
    pub high: f64,
}

impl Times {
    /// Computes the statistics of `runs`, which are in any order. Quantiles between two runs are interpolated
    /// linearly.
    pub fn from_runs(runs: &[f64]) -> Self {
        let mut sorted = runs.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * sorted.len().saturating_sub(1) as f64;
            let below = place.floor() as usize;
            let [low, high] = [below, below + 1].map(|at| sorted.get(at).or(sorted.last()).copied());
            let (low, high) = (low.unwrap_or(0.0), high.unwrap_or(0.0));
            low + (high - low) * (place - place.floor())
        };
        Self { median: at(0.5), low: at(0.25), high: at(0.75) }
    }
}

/// Adds the times of `more` to those of `sum`, run by run.
pub(super) fn add(sum: &mut Vec<f64>, more: &[f64]) {
    if sum.len() < more.len() {
        sum.resize(more.len(), 0.0);
    }
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}
