//! The result of a comparison.

use onnxport_abi::compare::{DECADE_BUCKETS, FIRST_DECADE, ULP_BUCKETS};
use schemars::JsonSchema;
use serde::Serialize;

use super::tolerance::Tolerance;

/// The number of buckets of the histogram of distances in units in the last place.
pub(super) const ULPS: usize = ULP_BUCKETS as usize;
/// The number of buckets of the histogram of errors.
pub(super) const DECADES: usize = DECADE_BUCKETS as usize;

/// The result of a comparison. Complex numbers are two elements.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Difference {
    /// The largest `|got - expected|` over the finite elements; at most the largest `f64`.
    pub max_abs: f64,
    /// The largest `|got - expected| / |expected|` where `|expected|` exceeds the absolute tolerance.
    pub max_rel: f64,
    /// The number of elements outside the tolerance.
    pub wrong: u64,
    /// Of these, the elements that are unexpectedly infinite or NaN, or unexpectedly finite.
    pub not_finite: u64,
    /// The number of elements.
    pub elements: u64,
    /// The largest finite magnitude among the expected elements.
    pub largest: f64,
    /// The square root of the mean of `(got - expected)²` over the finite elements.
    pub rms: f64,
    /// The cosine of the angle between the two tensors as vectors, over the finite elements; 1 when
    /// both are zero, 0 when one is.
    pub cosine: f64,
    /// The first element outside the tolerance.
    pub first: Option<Wrong>,
    /// The distribution of the differences; `None` if a plugin does not state it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// The tolerance; its absolute part is scaled, see [`compare`](super::compare).
    pub allowed: Tolerance,
}

/// An element outside the tolerance.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Wrong {
    /// Its position along every axis.
    pub index: Vec<u64>,
    /// The value.
    pub got: String,
    /// The expected value.
    pub expected: String,
}

/// The distribution of differences.
///
/// Elements that agree as NaN or as infinities count as equal in both histograms. Those that are NaN or infinite in
/// one tensor only are in neither of them, so that each sums up to the elements less [`Spread::nan`] and
/// [`Spread::infinite`].
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Spread {
    /// The mean of `|got - expected|` over the elements that are finite in both; 0 if there are none.
    pub mean: f64,
    /// The number of elements that are NaN in one tensor only.
    pub nan: u64,
    /// The number of the others that are infinite in one tensor only, or with another sign.
    pub infinite: u64,
    /// The number of the others that are zero, of any sign, in one tensor only.
    pub zero: u64,
    /// The largest distance in units in the last place: the number of values of the type in between, plus
    /// one. For integers and truth values it is the difference.
    pub max_ulps: u64,
    /// The number of elements by their distance in units in the last place, grouped by the number of bits of the
    /// distance: 0 at 0, 1 at 1, 2 and 3 at 2, 4 to 7 at 3, and so on to 64.
    pub ulps: Vec<u64>,
    /// The number of elements by their `|got - expected|`: 0 at 0; the others between [`decade_edges`].
    pub decades: Vec<u64>,
}

impl Difference {
    /// Whether zeros would have passed: the comparison then says nothing about the model.
    pub fn is_vacuous(&self) -> bool {
        self.elements > 0 && self.allowed != Tolerance::EXACT && self.largest <= self.allowed.atol
    }
}

/// Returns the powers of ten between the buckets of [`Spread::decades`]: bucket 1 lies below the first, bucket `n`
/// from the one at `n - 2` to below the next, the last one from the last of them.
pub fn decade_edges() -> impl Iterator<Item = f64> {
    EDGES.into_iter()
}

/// The upper bounds of buckets: bucket `n + 1` ends below element `n`.
pub(super) const EDGES: [f64; DECADES - 2] = [
    1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6,
    1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
    1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
];

const _: () = assert!(FIRST_DECADE == -20 && EDGES.len() == 41);
