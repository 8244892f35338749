//! Deterministic mutations for runs without libFuzzer.

/// Numbers that parsers get wrong, little-endian.
const NUMBERS: [u64; 10] =
    [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 0x7fff_ffff_ffff_ffff, u64::MAX];

/// A small generator of numbers, the same in every run.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// `input` after one to four random changes; `other` is an input to take parts from.
pub fn mutate(input: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let len = random.below(8).min(bytes.len() - at);
        match random.below(7) {
            0 => bytes.insert(at, random.below(256) as u8),
            1 => drop(bytes.drain(at..at + len)),
            2 => {
                let number = NUMBERS[random.below(NUMBERS.len())].to_le_bytes();
                bytes.splice(at..at + len, number.into_iter().take(len));
            }
            3 if !other.is_empty() => {
                let from = random.below(other.len());
                let part = &other[from..other.len().min(from + 1 + random.below(16))];
                bytes.splice(at..at + len, part.iter().copied());
            }
            4 => {
                let copy = bytes[at..at + len].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            5 => bytes.truncate(at.max(1)),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
    bytes
}
