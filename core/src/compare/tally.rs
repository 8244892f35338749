//! Statistics over pairs of elements.

use super::difference::{DECADES, Difference, EDGES, Spread, ULPS, Wrong};
use super::element::{Real, Visit};
use super::sums::Sums;
use super::tolerance::Tolerance;

/// The counts of an ongoing comparison.
pub(super) struct Tally {
    /// The tolerance, with its absolute part scaled.
    pub(super) allowed: Tolerance,
    pub(super) elements: u64,
    wrong: u64,
    /// The position of the first wrong element, its value and its expected value.
    pub(super) first: Option<(u64, String, String)>,
    max_abs: f64,
    max_rel: f64,
    largest: f64,
    nan: u64,
    infinite: u64,
    zero: u64,
    max_ulps: u64,
    ulps: [u64; ULPS],
    decades: [u64; DECADES],
    sums: Sums,
}

/// The largest finite magnitude of a tensor.
#[derive(Default)]
pub(super) struct Largest(pub(super) f64);

impl Visit for Largest {
    fn reals(&mut self, _: Real, expected: Real) {
        if expected.value.is_finite() {
            self.0 = self.0.max(expected.value.abs());
        }
    }

    fn integers(&mut self, _: i128, expected: i128) {
        self.0 = self.0.max(expected.unsigned_abs() as f64);
    }
}

impl Tally {
    pub(super) fn new(allowed: Tolerance) -> Self {
        Self {
            allowed,
            elements: 0,
            wrong: 0,
            first: None,
            max_abs: 0.0,
            max_rel: 0.0,
            largest: 0.0,
            nan: 0,
            infinite: 0,
            zero: 0,
            max_ulps: 0,
            ulps: [0; ULPS],
            decades: [0; DECADES],
            sums: Sums::default(),
        }
    }

    /// Returns the result; `index` maps a position to the index of its element.
    pub(super) fn finish(self, index: impl FnOnce(u64) -> Vec<u64>) -> Difference {
        let spread = Spread {
            mean: self.sums.mean(),
            nan: self.nan,
            infinite: self.infinite,
            zero: self.zero,
            max_ulps: self.max_ulps,
            ulps: self.ulps.to_vec(),
            decades: self.decades.to_vec(),
        };
        let first = self.first.map(|(at, got, expected)| Wrong { index: index(at), got, expected });
        Difference {
            max_abs: self.max_abs,
            max_rel: self.max_rel,
            wrong: self.wrong,
            not_finite: self.nan + self.infinite,
            elements: self.elements,
            largest: self.largest,
            rms: self.sums.rms(),
            cosine: self.sums.cosine(),
            first,
            spread: Some(spread),
            allowed: self.allowed,
        }
    }

    fn mark(&mut self, got: &dyn ToString, expected: &dyn ToString) {
        self.wrong += 1;
        let at = self.elements;
        self.first.get_or_insert_with(|| (at, got.to_string(), expected.to_string()));
    }

    /// Counts a pair of finite elements with their difference and distance.
    fn finite(&mut self, got: f64, expected: f64, difference: f64, ulps: u64) {
        self.largest = self.largest.max(expected.abs());
        self.sums.add(got, expected, difference);
        if let Some(bucket) = self.ulps.get_mut((u64::BITS - ulps.leading_zeros()) as usize) {
            *bucket += 1;
        }
        if let Some(bucket) = self.decades.get_mut(decade(difference)) {
            *bucket += 1;
        }
        self.max_ulps = self.max_ulps.max(ulps);
        self.zero += u64::from((got == 0.0) != (expected == 0.0));
        self.max_abs = self.max_abs.max(difference);
        if difference > 0.0 && expected.abs() > self.allowed.atol {
            self.max_rel = self.max_rel.max((difference / expected.abs()).min(f64::MAX));
        }
    }

    /// Returns the bound on the difference from the expected element.
    fn limit(&self, expected: f64) -> f64 {
        self.allowed.atol + self.allowed.rtol * expected.abs()
    }
}

/// Returns the bucket of an error.
fn decade(difference: f64) -> usize {
    if difference == 0.0 { 0 } else { 1 + EDGES.partition_point(|edge| *edge <= difference) }
}

impl Visit for Tally {
    fn reals(&mut self, got: Real, expected: Real) {
        let (g, e) = (got.value, expected.value);
        if g.is_finite() && e.is_finite() {
            // The difference of two `f64` may be beyond them.
            let difference = (g - e).abs().min(f64::MAX);
            self.finite(g, e, difference, got.order.abs_diff(expected.order));
            if difference > self.limit(e) {
                self.mark(&g, &e);
            }
        } else {
            if e.is_finite() {
                self.largest = self.largest.max(e.abs());
            }
            let agree = g == e || g.is_nan() && e.is_nan();
            if agree {
                for first in [self.ulps.first_mut(), self.decades.first_mut()].into_iter().flatten() {
                    *first += 1;
                }
            } else {
                *(if g.is_nan() || e.is_nan() { &mut self.nan } else { &mut self.infinite }) += 1;
                self.mark(&g, &e);
            }
        }
        self.elements += 1;
    }

    fn integers(&mut self, got: i128, expected: i128) {
        // At most 64 bits, like the numbers.
        let distance = got.abs_diff(expected) as u64;
        self.finite(got as f64, expected as f64, distance as f64, distance);
        let limit = self.limit(expected as f64);
        // A limit beyond every distance saturates; its fraction does not count.
        if distance > limit as u64 {
            self.mark(&got, &expected);
        }
        self.elements += 1;
    }
}
