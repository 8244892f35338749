//! From the statistics of a value to its scale and zero point.

use std::fmt;
use std::str::FromStr;

use super::observe::Histogram;
use crate::legalise::rules::Codes;

/// How many ranges the searches try.
const CANDIDATES: u32 = 128;
/// The smallest one, as a share of the whole range: a bin of the histogram for each code.
const SMALLEST: f64 = 0.125;

/// How the range of a value follows from its statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Method {
    /// The smallest and the largest value.
    #[default]
    MinMax,
    /// The range that holds this percentage of the values, with equal shares cut off at both ends.
    Percentile(f64),
    /// The range with the smallest Kullback-Leibler divergence of the codes' distribution from the values'. Source:
    /// Migacz, 8-bit inference with `TensorRT` (2017).
    Entropy,
    /// The range with the smallest mean squared error.
    Mse,
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once('=').map_or((text, None), |(name, n)| (name, Some(n)));
        match (name, number) {
            ("min-max", None) => Ok(Self::MinMax),
            ("entropy", None) => Ok(Self::Entropy),
            ("mse", None) => Ok(Self::Mse),
            ("percentile", None) => Ok(Self::Percentile(99.99)),
            ("percentile", Some(number)) => match number.parse::<f64>() {
                Ok(percent) if percent > 50.0 && percent <= 100.0 => Ok(Self::Percentile(percent)),
                _ => Err("a percentile is above 50 and at most 100".to_owned()),
            },
            _ => Err("the methods are min-max, percentile, percentile=NUMBER, entropy and mse".to_owned()),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MinMax => f.write_str("min-max"),
            Self::Percentile(percent) => write!(f, "percentile={percent}"),
            Self::Entropy => f.write_str("entropy"),
            Self::Mse => f.write_str("mse"),
        }
    }
}

impl Method {
    /// Whether it needs the distribution of the values besides their range.
    pub fn needs_histogram(self) -> bool {
        self != Self::MinMax
    }
}

/// A range of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Range {
    /// The smallest range that holds both.
    pub(super) fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// A scale and a zero point: `value = (code - zero_point) * scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quantised {
    /// The scale, a positive normal number.
    pub scale: f32,
    /// The code of zero.
    pub zero_point: i32,
}

impl Quantised {
    /// The codes that cover `range` and zero, which is padding and the result of many activations and must be exact.
    pub(super) fn of_range(range: Range, codes: Codes) -> Self {
        let (low, high) = (range.low.min(0.0), range.high.max(0.0));
        let (first, last) = codes.limits();
        let (span, steps) = match codes {
            Codes::SymmetricI8 => (high.max(-low), f64::from(last)),
            _ => (high - low, f64::from(last - first)),
        };
        if span <= 0.0 {
            let zero_point = if codes == Codes::SymmetricI8 { 0 } else { first };
            return Self { scale: 1.0, zero_point };
        }
        let scale = ((span / steps) as f32).clamp(f32::MIN_POSITIVE, f32::MAX);
        let zero_point = match codes {
            Codes::SymmetricI8 => 0,
            _ => (f64::from(first) - low / f64::from(scale)).round().clamp(f64::from(first), f64::from(last))
                as i32,
        };
        Self { scale, zero_point }
    }

    /// The value after it was quantized and dequantized.
    pub(super) fn round(self, value: f64, codes: Codes) -> f64 {
        let (first, last) = codes.limits();
        let zero = f64::from(self.zero_point);
        let code = (value / f64::from(self.scale)).round_ties_even() + zero;
        (code.clamp(f64::from(first), f64::from(last)) - zero) * f64::from(self.scale)
    }
}

/// The range of a value with this histogram.
pub(super) fn range(histogram: &Histogram, method: Method, codes: Codes) -> Range {
    let whole = histogram.range();
    if whole.high <= whole.low || histogram.total() == 0 {
        return whole;
    }
    match method {
        Method::MinMax => whole,
        Method::Percentile(percent) => percentile(histogram, percent, codes),
        Method::Entropy => least(whole, codes, |range| divergence(histogram, range, codes)),
        Method::Mse => least(whole, codes, |range| squared_error(histogram, range, codes)),
    }
}

/// The best of the ranges that are smaller than `whole`; the largest one of equally good ones. With a zero point, the ends
/// move one after the other.
fn least(whole: Range, codes: Codes, cost: impl Fn(Range) -> f64) -> Range {
    if codes == Codes::SymmetricI8 {
        let most = whole.high.max(-whole.low);
        return best(whole, &cost, |factor| {
            let bound = most * factor;
            Range { low: whole.low.max(-bound), high: whole.high.min(bound) }
        });
    }
    let high = best(whole, &cost, |factor| Range { high: whole.high * factor, ..whole });
    best(high, &cost, |factor| Range { low: whole.low * factor, ..high })
}

/// The best of the ranges that `made` makes of factors.
fn best(whole: Range, cost: &impl Fn(Range) -> f64, made: impl Fn(f64) -> Range) -> Range {
    let mut best = (f64::INFINITY, whole);
    for step in 0..CANDIDATES {
        let range = made(1.0 - (1.0 - SMALLEST) * f64::from(step) / f64::from(CANDIDATES));
        // An end on the other side of zero does not shrink the range.
        if range.low > range.high {
            continue;
        }
        let cost = cost(range);
        if cost < best.0 {
            best = (cost, range);
        }
    }
    best.1
}

fn percentile(histogram: &Histogram, percent: f64, codes: Codes) -> Range {
    let total = histogram.total() as f64;
    let cut = total * (1.0 - percent / 100.0);
    if codes == Codes::SymmetricI8 {
        let mut magnitudes: Vec<(f64, u64)> =
            histogram.edges().map(|(low, high, count)| (high.abs().max(low.abs()), count)).collect();
        magnitudes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let bound = beyond(magnitudes.into_iter(), cut);
        let whole = histogram.range();
        return Range { low: whole.low.max(-bound), high: whole.high.min(bound) };
    }
    let low = beyond(histogram.edges().map(|(low, _, count)| (low, count)), cut / 2.0);
    let high = beyond(histogram.edges().rev().map(|(_, high, count)| (high, count)), cut / 2.0);
    Range { low, high }
}

/// The first end of a bin at which at most `cut` values were passed.
fn beyond(bins: impl Iterator<Item = (f64, u64)>, cut: f64) -> f64 {
    let (mut passed, mut last) = (0.0, 0.0);
    for (end, count) in bins {
        last = end;
        passed += count as f64;
        if passed > cut {
            break;
        }
    }
    last
}

fn squared_error(histogram: &Histogram, range: Range, codes: Codes) -> f64 {
    let quantised = Quantised::of_range(range, codes);
    let error = |(low, high, count): (f64, f64, u64)| {
        let middle = f64::midpoint(low, high);
        (middle - quantised.round(middle, codes)).powi(2) * count as f64
    };
    histogram.edges().map(error).sum()
}

/// The Kullback-Leibler divergence of the distribution of codes from that of values. Values outside of `range` count at
/// its ends; bins with the same code share their number evenly among those that are not empty.
fn divergence(histogram: &Histogram, range: Range, codes: Codes) -> f64 {
    let quantised = Quantised::of_range(range, codes);
    let mut kept: Vec<(f64, f64, i64)> = Vec::new();
    let (mut below, mut above) = (0.0, 0.0);
    let bins: Vec<(f64, f64, u64)> = histogram.edges().collect();
    for (at, (low, high, count)) in bins.iter().copied().enumerate() {
        let is_zero = low <= 0.0 && high > 0.0;
        let beside = |at: Option<usize>| at.and_then(|at| bins.get(at)).map_or(0, |bin| bin.2);
        // Zeros, which are most results of some activations, have a code of their own. As a peak within a code, they
        // would make the smallest range the best one.
        let most = beside(at.checked_sub(1)).max(beside(at.checked_add(1)));
        let count = if is_zero { count.min(most) } else { count };
        let (middle, count) = (f64::midpoint(low, high), count as f64);
        if middle < range.low {
            below += count;
        } else if middle > range.high {
            above += count;
        } else {
            let code = (quantised.round(middle, codes) / f64::from(quantised.scale)).round() as i64;
            kept.push((count, count, code));
        }
    }
    if let Some(first) = kept.first_mut() {
        first.0 += below;
    }
    if let Some(last) = kept.last_mut() {
        last.0 += above;
    }
    let clipped: f64 = kept.iter().map(|(with, ..)| with).sum();
    let inside: f64 = kept.iter().map(|(_, without, _)| without).sum();
    if clipped <= 0.0 || inside <= 0.0 {
        return f64::INFINITY;
    }
    let mut sum = 0.0;
    for bins in kept.chunk_by(|a, b| a.2 == b.2) {
        let filled = bins.iter().filter(|(with, ..)| *with > 0.0).count() as f64;
        let shared: f64 = bins.iter().map(|(_, without, _)| without).sum::<f64>() / filled.max(1.0);
        for (with, ..) in bins.iter().filter(|(with, ..)| *with > 0.0) {
            let p = with / clipped;
            // A code that only values from outside have.
            let q = (shared / inside).max(1e-12);
            sum += p * (p / q).ln();
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A histogram of `values`.
    fn of(values: &[f64]) -> Histogram {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut histogram = Histogram::new(Range { low, high });
        for value in values {
            histogram.add(*value);
        }
        histogram
    }

    /// Numbers of a normal distribution, from sums of a fixed generator, and a single outlier.
    fn normal_with_outlier() -> Vec<f64> {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / f64::from(1 << 24)
        };
        let mut values: Vec<f64> = (0..20000).map(|_| (0..12).map(|_| next()).sum::<f64>() - 6.0).collect();
        values.push(60.0);
        values
    }

    #[test]
    fn zero_is_always_a_code() {
        for codes in [Codes::U8, Codes::I8, Codes::SymmetricI8] {
            for (low, high) in [(-1.0, 3.0), (2.0, 3.0), (-3.0, -2.0), (0.0, 0.0), (-1e-30, 1e30)] {
                let quantised = Quantised::of_range(Range { low, high }, codes);
                assert!(quantised.scale.is_normal() && quantised.scale > 0.0);
                assert_eq!(quantised.round(0.0, codes), 0.0, "{codes:?} {low} {high}");
            }
        }
        let relu = Quantised::of_range(Range { low: 0.0, high: 2.55 }, Codes::U8);
        assert_eq!((relu.scale, relu.zero_point), (0.01, 0));
        let signed = Quantised::of_range(Range { low: -1.27, high: 0.5 }, Codes::SymmetricI8);
        assert_eq!((signed.scale, signed.zero_point), (0.01, 0));
    }

    #[test]
    fn the_ends_of_a_range_survive() {
        for codes in [Codes::U8, Codes::I8, Codes::SymmetricI8] {
            let quantised = Quantised::of_range(Range { low: -1.0, high: 3.0 }, codes);
            let half = f64::from(quantised.scale) * 0.51;
            for value in [-1.0, 0.3, 3.0] {
                assert!((quantised.round(value, codes) - value).abs() <= half, "{codes:?} {value}");
            }
            assert!(quantised.round(100.0, codes) <= 3.0 + half);
        }
    }

    #[test]
    fn methods_cut_off_an_outlier() {
        let values = normal_with_outlier();
        let histogram = of(&values);
        let error = |range: Range, codes| {
            let quantised = Quantised::of_range(range, codes);
            values.iter().map(|v| (v - quantised.round(*v, codes)).powi(2)).sum::<f64>()
        };
        for codes in [Codes::U8, Codes::SymmetricI8] {
            let whole = range(&histogram, Method::MinMax, codes);
            assert_eq!(whole.high, 60.0);
            let percentile = range(&histogram, Method::Percentile(99.9), codes);
            assert!(percentile.high < 6.0 && percentile.high > 2.0, "{percentile:?}");
            let entropy = range(&histogram, Method::Entropy, codes);
            assert!(entropy.high < 20.0, "{entropy:?}");
            let mse = range(&histogram, Method::Mse, codes);
            assert!(error(mse, codes) <= error(whole, codes), "{mse:?}");
            assert!(error(mse, codes) <= error(entropy, codes), "{mse:?} {entropy:?}");
        }
    }

    #[test]
    fn many_zeros_do_not_make_the_range_small() {
        let values: Vec<f64> = normal_with_outlier().into_iter().map(|value| value.clamp(0.0, 5.0)).collect();
        let entropy = range(&of(&values), Method::Entropy, Codes::U8);
        assert!(entropy.high > 2.0, "{entropy:?}");
    }

    #[test]
    fn a_uniform_distribution_keeps_its_range() {
        let values: Vec<f64> = (0..8000).map(|n| f64::from(n) / 4000.0 - 1.0).collect();
        for method in [Method::MinMax, Method::Percentile(100.0), Method::Mse] {
            let range = range(&of(&values), method, Codes::U8);
            assert!(range.low < -0.98 && range.high > 0.98, "{method} {range:?}");
        }
    }

    #[test]
    fn a_constant_has_a_range() {
        for method in [Method::MinMax, Method::Percentile(99.0), Method::Entropy, Method::Mse] {
            assert_eq!(range(&of(&[2.0, 2.0]), method, Codes::U8), Range { low: 2.0, high: 2.0 });
        }
    }

    #[test]
    fn methods_have_names() {
        for text in ["min-max", "percentile=99.5", "entropy", "mse"] {
            assert_eq!(text.parse::<Method>().unwrap().to_string(), text);
        }
        for text in ["", "max", "percentile=3", "percentile=NaN", "mse=2"] {
            assert!(text.parse::<Method>().is_err(), "{text}");
        }
    }
}
