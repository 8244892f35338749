//! A generator of pseudo-random numbers that are the same in every run.

use std::f64::consts::TAU;

/// A stream of random bits: `SplitMix64`, of Steele, Lea and Flood. A seed gives the same stream on every machine.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to 1, which is left out: the upper 53 bits of a draw.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number with mean 0 and variance 1, of two draws by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        // The first one is not 0, so that its logarithm is finite.
        let (a, b) = (1.0 - self.unit(), self.unit());
        (-2.0 * a.ln()).sqrt() * (TAU * b).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_stream_is_that_of_the_published_generator() {
        let mut random = Random::new(1_234_567);
        let drawn = [0; 3].map(|_: u64| random.bits());
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
