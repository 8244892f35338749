//! Statistics of values over all samples, whose size does not depend on the number of samples.

use super::range::Range;

/// The number of bins of a histogram.
pub(super) const BINS: usize = 2048;

/// The range of a value's elements.
#[derive(Clone, Debug)]
pub(super) struct Extremes {
    low: f64,
    high: f64,
    /// The number of elements.
    pub count: u64,
    /// The number of elements that are NaN or infinite.
    pub not_finite: u64,
}

impl Default for Extremes {
    fn default() -> Self {
        Self { low: f64::INFINITY, high: f64::NEG_INFINITY, count: 0, not_finite: 0 }
    }
}

impl Extremes {
    /// Adds the elements of a sample.
    pub(super) fn add(&mut self, values: impl Iterator<Item = f32>) {
        for value in values {
            self.count += 1;
            if value.is_finite() {
                self.low = self.low.min(f64::from(value));
                self.high = self.high.max(f64::from(value));
            } else {
                self.not_finite += 1;
            }
        }
    }

    /// The range; `None` if there were no finite elements.
    pub(super) fn range(&self) -> Option<Range> {
        (self.low <= self.high).then_some(Range { low: self.low, high: self.high })
    }
}

/// The distribution of a value's elements within a known range.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    range: Range,
    bins: Vec<u64>,
}

impl Histogram {
    /// An empty histogram.
    pub(super) fn new(range: Range) -> Self {
        Self { range, bins: vec![0; BINS] }
    }

    /// Adds an element; one outside of the range counts in the nearest bin.
    pub(super) fn add(&mut self, value: f64) {
        let width = self.range.high - self.range.low;
        let at = if width > 0.0 { (value - self.range.low) / width * BINS as f64 } else { 0.0 };
        // A cast of a float saturates.
        if let Some(bin) = self.bins.get_mut((at as usize).min(BINS - 1)) {
            *bin += 1;
        }
    }

    /// The range.
    pub(super) fn range(&self) -> Range {
        self.range
    }

    /// The number of elements.
    pub(super) fn total(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// The ends and the numbers of the bins, in ascending order.
    pub(super) fn edges(&self) -> impl DoubleEndedIterator<Item = (f64, f64, u64)> {
        let step = (self.range.high - self.range.low) / BINS as f64;
        let at = move |bin: usize| self.range.low + step * bin as f64;
        self.bins.iter().enumerate().map(move |(bin, count)| (at(bin), at(bin + 1), *count))
    }
}

/// The mean of a value in each channel.
#[derive(Clone, Debug)]
pub(super) struct Means {
    /// The axis of the channels; -1 is the last one.
    axis: i64,
    sums: Vec<f64>,
    counts: Vec<u64>,
}

impl Means {
    /// No elements yet.
    pub(super) fn new(axis: i64) -> Self {
        Self { axis, sums: Vec::new(), counts: Vec::new() }
    }

    /// Adds the elements of a sample of this shape.
    pub(super) fn add(&mut self, shape: &[i64], values: impl Iterator<Item = f32>) {
        let rank = shape.len() as i64;
        let axis = if self.axis < 0 { self.axis + rank } else { self.axis };
        let size = |d: &i64| usize::try_from(*d).unwrap_or(0);
        let Some(channels) = usize::try_from(axis).ok().and_then(|axis| shape.get(axis)).map(size) else {
            return;
        };
        let inner: usize = shape.iter().skip(axis as usize + 1).map(size).product();
        if self.sums.len() < channels {
            self.sums.resize(channels, 0.0);
            self.counts.resize(channels, 0);
        }
        for (at, value) in values.enumerate() {
            let channel = at / inner.max(1) % channels.max(1);
            if let (Some(sum), Some(count)) = (self.sums.get_mut(channel), self.counts.get_mut(channel)) {
                *sum += f64::from(value);
                *count += 1;
            }
        }
    }

    /// The means.
    pub(super) fn means(&self) -> Vec<f64> {
        self.sums.iter().zip(&self.counts).map(|(sum, count)| sum / (*count).max(1) as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_count_values_that_are_not_finite() {
        let mut extremes = Extremes::default();
        extremes.add([1.0, -2.0, f32::NAN, f32::INFINITY].into_iter());
        extremes.add([3.0].into_iter());
        assert_eq!(extremes.range(), Some(Range { low: -2.0, high: 3.0 }));
        assert_eq!((extremes.count, extremes.not_finite), (5, 2));
        assert_eq!(Extremes::default().range(), None);
    }

    #[test]
    fn histograms_keep_every_element() {
        let mut histogram = Histogram::new(Range { low: -1.0, high: 1.0 });
        for value in [-1.0, 0.0, 1.0, 7.0, -7.0] {
            histogram.add(value);
        }
        assert_eq!(histogram.total(), 5);
        let filled: Vec<u64> = histogram.edges().map(|edge| edge.2).filter(|count| *count > 0).collect();
        assert_eq!(filled, [2, 1, 2]);
    }

    #[test]
    fn means_are_of_channels() {
        let mut means = Means::new(1);
        means.add(&[1, 2, 2], [1.0, 3.0, 10.0, 20.0].into_iter());
        means.add(&[1, 2, 2], [2.0, 2.0, 0.0, 0.0].into_iter());
        assert_eq!(means.means(), [2.0, 7.5]);
        let mut last = Means::new(-1);
        last.add(&[2, 2], [1.0, 10.0, 3.0, 30.0].into_iter());
        assert_eq!(last.means(), [2.0, 20.0]);
    }
}
