//! Sums of products that neither overflow nor underflow, and whose rounding error does not grow with the length.

/// The number of products that are summed before the sum is added to the total.
const BLOCK: u32 = 1024;

/// `2^600`, by which factors of very small products are multiplied, and those of very large ones divided.
const SCALE: f64 = f64::from_bits((1023 + 600) << 52);

/// A sum of products of finite numbers.
///
/// The squares of an `f64` leave its range above 1e154 and below 1e-154. Such products are summed separately, from
/// factors that are scaled by a power of two. The others are summed in blocks, so that the relative error of a sum of
/// `n` positive terms stays below `(1024 + n / 1024) * 2⁻⁵³`. Blocks are counted by elements, so that the chunk size
/// does not affect the result.
#[derive(Clone, Default)]
pub(super) struct Sum {
    high: f64,
    total: f64,
    block: f64,
    low: f64,
}

impl Sum {
    /// Adds `a * b`; both are finite.
    pub(super) fn add(&mut self, a: f64, b: f64) {
        let product = a * b;
        let magnitude = product.abs();
        if (1e-270..1e270).contains(&magnitude) {
            self.block += product;
        } else if a != 0.0 && b != 0.0 {
            let up = magnitude < 1.0;
            let factor = if up { SCALE } else { 1.0 / SCALE };
            let sum = if up { &mut self.low } else { &mut self.high };
            *sum += (a * factor) * (b * factor);
        }
    }

    fn end_block(&mut self) {
        self.total += std::mem::take(&mut self.block);
    }

    /// Returns the sum as a number and a power of [`SCALE`] to multiply it by: -2, 0 or 2.
    fn parts(&self) -> (f64, i32) {
        let middle = self.total + self.block;
        if self.high != 0.0 {
            (self.high + times(middle, -2), 2)
        } else if middle != 0.0 {
            (middle + times(self.low, -2), 0)
        } else {
            (self.low, -2)
        }
    }
}

/// `x` multiplied by [`SCALE`] so often.
fn times(x: f64, count: i32) -> f64 {
    let factor = if count < 0 { 1.0 / SCALE } else { SCALE };
    (0..count.unsigned_abs()).fold(x, |x, _| x * factor)
}

/// The sums that a comparison needs, over the elements that are finite in both tensors.
#[derive(Clone, Default)]
pub(super) struct Sums {
    count: u64,
    in_block: u32,
    errors: Sum,
    squares: Sum,
    product: Sum,
    got: Sum,
    expected: Sum,
}

impl Sums {
    /// Adds a pair of finite elements and their difference.
    pub(super) fn add(&mut self, got: f64, expected: f64, difference: f64) {
        self.count += 1;
        if difference != 0.0 {
            self.errors.add(difference, 1.0);
            self.squares.add(difference, difference);
        }
        self.product.add(got, expected);
        self.got.add(got, got);
        self.expected.add(expected, expected);
        self.in_block += 1;
        if self.in_block == BLOCK {
            self.in_block = 0;
            for sum in
                [&mut self.errors, &mut self.squares, &mut self.product, &mut self.got, &mut self.expected]
            {
                sum.end_block();
            }
        }
    }

    /// The mean of the differences.
    pub(super) fn mean(&self) -> f64 {
        let (sum, scale) = self.errors.parts();
        times(sum / self.divisor(), scale).min(f64::MAX)
    }

    /// The root of the mean of their squares.
    pub(super) fn rms(&self) -> f64 {
        let (sum, scale) = self.squares.parts();
        times((sum / self.divisor()).sqrt(), scale / 2).min(f64::MAX)
    }

    /// The cosine of the angle between the tensors.
    pub(super) fn cosine(&self) -> f64 {
        let [(product, scale), (got, got_scale), (expected, expected_scale)] =
            [&self.product, &self.got, &self.expected].map(Sum::parts);
        if got == 0.0 || expected == 0.0 {
            return f64::from(u8::from(got == expected));
        }
        let cosine = product / (got.sqrt() * expected.sqrt());
        times(cosine, scale - got_scale / 2 - expected_scale / 2).clamp(-1.0, 1.0)
    }

    fn divisor(&self) -> f64 {
        self.count.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::Sums;

    fn sums(pairs: &[(f64, f64)]) -> Sums {
        let mut sums = Sums::default();
        for (got, expected) in pairs {
            sums.add(*got, *expected, (got - expected).abs().min(f64::MAX));
        }
        sums
    }

    #[test]
    fn the_largest_and_smallest_numbers_have_an_angle_and_a_mean() {
        for scale in [1e300, 1e-300, 1.0, 5e-324] {
            let found = sums(&[(3.0 * scale, 3.0 * scale), (4.0 * scale, -4.0 * scale)]);
            assert!((found.cosine() - -7.0 / 25.0).abs() < 1e-15, "{scale:e}: {}", found.cosine());
            let rms = found.rms() / scale;
            assert!((rms - 32f64.sqrt()).abs() < 1e-14 || scale == 5e-324 && rms == 6.0, "{scale:e}: {rms}");
            assert!((found.mean() / scale - 4.0).abs() < 1e-14);
        }
        let opposite = sums(&[(f64::MAX, -f64::MAX)]);
        assert_eq!((opposite.mean(), opposite.rms(), opposite.cosine()), (f64::MAX, f64::MAX, -1.0));
        let small = sums(&[(1e-300, 1e300)]);
        assert_eq!((small.cosine(), small.rms()), (1.0, 1e300));
    }

    #[test]
    fn zeros_have_an_angle_as_well() {
        assert_eq!(sums(&[]).cosine(), 1.0);
        assert_eq!(sums(&[(0.0, -0.0)]).cosine(), 1.0);
        assert_eq!(sums(&[(0.0, 1.0)]).cosine(), 0.0);
        assert_eq!((sums(&[]).mean(), sums(&[]).rms()), (0.0, 0.0));
    }
}
