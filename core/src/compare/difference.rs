//! What a comparison found.

use onnxport_abi::compare::{DECADE_BUCKETS, FIRST_DECADE, ULP_BUCKETS};
use schemars::JsonSchema;
use serde::Serialize;

use super::tolerance::Tolerance;

/// The places of the histogram of distances in units of the last place.
pub(super) const ULPS: usize = ULP_BUCKETS as usize;
/// The places of the histogram of errors.
pub(super) const DECADES: usize = DECADE_BUCKETS as usize;

/// What a comparison found. Complex numbers are two elements.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Difference {
    /// The largest `|got - expected|` over the finite elements; at most the largest `f64`.
    pub max_abs: f64,
    /// The largest `|got - expected| / |expected|` where `|expected|` exceeds the absolute tolerance.
    pub max_rel: f64,
    /// How many elements are outside of the tolerance.
    pub wrong: u64,
    /// Of them, those that are infinite or NaN and should not be, or the other way round.
    pub not_finite: u64,
    /// How many elements there are.
    pub elements: u64,
    /// The largest finite magnitude among the expected elements.
    pub largest: f64,
    /// The square root of the mean of `(got - expected)²` over the finite elements.
    pub rms: f64,
    /// The cosine of the angle between the two tensors as vectors, over the finite elements; 1 when
    /// both are zero, 0 when one is.
    pub cosine: f64,
    /// The first element outside of the tolerance.
    pub first: Option<Wrong>,
    /// How the differences are spread; `None` from a plugin that does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// What was allowed; the absolute part is scaled, see [`compare`](super::compare).
    pub allowed: Tolerance,
}

/// An element outside of the tolerance.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Wrong {
    /// Its position along every axis.
    pub index: Vec<u64>,
    /// The value.
    pub got: String,
    /// The expected value.
    pub expected: String,
}

/// How differences are spread.
///
/// Elements that agree as NaN or as infinities count as equal in both histograms. Those that are NaN or infinite in
/// one tensor only stand in none of them, so that each sums up to the elements less [`Spread::nan`] and
/// [`Spread::infinite`].
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Spread {
    /// The mean of `|got - expected|` over the elements that are finite in both; 0 where there are none.
    pub mean: f64,
    /// How many elements are NaN in one tensor only.
    pub nan: u64,
    /// How many of the others are infinite in one tensor only, or with another sign.
    pub infinite: u64,
    /// How many of the others are zero, of any sign, in one tensor only.
    pub zero: u64,
    /// The largest distance in units of the last place: how many numbers of the type lie between, plus one.
    /// Of integers and truth values it is the difference.
    pub max_ulps: u64,
    /// How many elements are how many units of the last place away, by the number of bits of the distance: 0 at 0,
    /// 1 at 1, 2 and 3 at 2, 4 to 7 at 3, and so on to 64.
    pub ulps: Vec<u64>,
    /// How many elements have which `|got - expected|`: 0 at 0; the others between [`decade_edges`].
    pub decades: Vec<u64>,
}

impl Difference {
    /// Whether zeros would have passed: the comparison says nothing about the model.
    pub fn is_vacuous(&self) -> bool {
        self.elements > 0 && self.allowed != Tolerance::EXACT && self.largest <= self.allowed.atol
    }
}

/// The powers of ten that part the buckets of [`Spread::decades`]: bucket 1 lies below the first, bucket `n` from the
/// one at `n - 2` to below the next, the last one from the last of them.
pub fn decade_edges() -> impl Iterator<Item = f64> {
    EDGES.into_iter()
}

/// Below which number the bucket after the same place ends.
pub(super) const EDGES: [f64; DECADES - 2] = [
    1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6,
    1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
    1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
];

const _: () = assert!(FIRST_DECADE == -20 && EDGES.len() == 41);
