//! The fields of a result, at the positions that `compare.cu` defines.

use onnxport_sdk::comparer::{Metrics, Spread};

/// The words of a result.
pub(super) const WORDS: usize = SUMS + 15;
const ALIKE: usize = 4;
const ULPS: usize = 5;
const DECADES: usize = ULPS + 65;
const FIRST: usize = DECADES + 43;
const MAX_ULPS: usize = FIRST + 1;
const SUMS: usize = FIRST + 5;

/// `2^600`: see `add` in `compare.cu`.
const SCALE: f64 = f64::from_bits((1023 + 600) << 52);

/// The words of an empty result.
pub(super) const NOTHING: [u64; WORDS] = {
    let mut words = [0; WORDS];
    words[FIRST] = u64::MAX;
    words
};

/// The results of all chunks.
#[derive(Clone)]
pub(crate) struct Totals(pub(super) [u64; WORDS]);

impl Totals {
    /// Adds the results of other chunks.
    pub(super) fn add(&mut self, other: &[u64; WORDS]) {
        for (word, (total, next)) in self.0.iter_mut().zip(other).enumerate() {
            *total = match word {
                ..FIRST => total.wrapping_add(*next),
                FIRST => (*total).min(*next),
                MAX_ULPS..SUMS => (*total).max(*next),
                _ => (f64::from_bits(*total) + f64::from_bits(*next)).to_bits(),
            };
        }
    }

    /// The metrics of `elements` elements.
    pub(super) fn metrics(&self, elements: u64) -> Metrics {
        let words = &self.0;
        let [max_abs, max_rel, largest] = [2, 3, 4].map(|n| f64::from_bits(words[FIRST + n]));
        let first = (words[FIRST] != u64::MAX).then_some(words[FIRST]);
        let [_, squares, product, got, expected] = self.sums();
        let rms = times((squares.0 / self.finite()).sqrt(), squares.1 / 2).min(f64::MAX);
        let cosine = if got.0 == 0.0 || expected.0 == 0.0 {
            f64::from(u8::from(got.0 == expected.0))
        } else {
            let cosine = product.0 / (got.0.sqrt() * expected.0.sqrt());
            times(cosine, product.1 - got.1 / 2 - expected.1 / 2).clamp(-1.0, 1.0)
        };
        Metrics { elements, wrong: words[0], first, max_abs, max_rel, largest, rms, cosine }
    }

    /// How the differences are spread.
    pub(super) fn spread(&self) -> Spread {
        let words = &self.0;
        let (mut ulps, mut decades) = ([0; 65], [0; 43]);
        ulps.copy_from_slice(&words[ULPS..DECADES]);
        decades.copy_from_slice(&words[DECADES..FIRST]);
        let [errors, ..] = self.sums();
        Spread {
            mean: times(errors.0 / self.finite(), errors.1).min(f64::MAX),
            nan: words[1],
            infinite: words[2],
            zero: words[3],
            max_ulps: words[MAX_ULPS],
            ulps,
            decades,
        }
    }

    /// Errors, squares, products, and the squares of both tensors: a number, and how often it is to be multiplied by
    /// [`SCALE`].
    fn sums(&self) -> [(f64, i32); 5] {
        std::array::from_fn(|sum| {
            let [middle, high, low] = [0, 1, 2].map(|part| f64::from_bits(self.0[SUMS + 3 * sum + part]));
            if high != 0.0 {
                (high + times(middle, -2), 2)
            } else if middle != 0.0 {
                (middle + times(low, -2), 0)
            } else {
                (low, -2)
            }
        })
    }

    /// How many elements are finite in both tensors; at least 1.
    fn finite(&self) -> f64 {
        let compared: u64 = self.0[ULPS..DECADES].iter().sum();
        compared.saturating_sub(self.0[ALIKE]).max(1) as f64
    }
}

/// `x` multiplied by [`SCALE`] so often.
fn times(x: f64, count: i32) -> f64 {
    let factor = if count < 0 { 1.0 / SCALE } else { SCALE };
    (0..count.unsigned_abs()).fold(x, |x, _| x * factor)
}
