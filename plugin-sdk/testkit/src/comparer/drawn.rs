//! The bits of elements, drawn and chosen.

use onnxport_core::tensor::{DType, Kind};

/// Draws elements of a type, the same ones every time.
pub(super) struct Draw {
    dtype: DType,
    /// The bits of an element; of half of one where elements are complex.
    bits: u32,
    state: u64,
}

impl Draw {
    pub(super) fn new(dtype: DType) -> Self {
        let bits = dtype.bits() / if dtype.is_complex() { 2 } else { 1 };
        Self { dtype, bits, state: dtype.onnx() as u64 }
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// The bits of the mantissa.
    fn mantissa(&self) -> u32 {
        match self.dtype {
            DType::F64 | DType::C128 => 52,
            DType::F32 | DType::C64 => 23,
            DType::F16 => 10,
            DType::BF16 => 7,
            DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F6E2M3 => 3,
            DType::F8E5M2 | DType::F8E5M2FNUZ | DType::F6E3M2 => 2,
            DType::F4E2M1 => 1,
            _ => 0,
        }
    }

    fn is_real(&self) -> bool {
        matches!(self.dtype.kind(), Kind::Float | Kind::Complex)
    }

    /// The next of splitmix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Any bits.
    pub(super) fn any(&mut self) -> u64 {
        self.next() & self.mask()
    }

    /// The exponent's bits of 1, or as near to them as the type has them.
    fn middle(&self) -> u64 {
        let exponent = self.bits - u32::from(self.dtype != DType::F8E8M0) - self.mantissa();
        ((1 << (exponent - 1)) - 1) << self.mantissa()
    }

    /// A number around 1, of either sign; of integers a small one.
    pub(super) fn near_one(&mut self) -> u64 {
        let drawn = self.next();
        if self.dtype == DType::F8E8M0 {
            return 125 + drawn % 5;
        }
        if !self.is_real() {
            return (drawn % 23) & self.mask() & if self.dtype == DType::Bool { 1 } else { u64::MAX };
        }
        let mantissa = drawn >> 8 & ((1 << self.mantissa()) - 1);
        (self.middle() | mantissa | (drawn & 1) << (self.bits - 1)) & self.mask()
    }

    /// An element some steps away, mostly few or none.
    pub(super) fn neighbour(&mut self, code: u64) -> u64 {
        let step = match self.next() % 16 {
            0..8 => 0,
            8..14 => self.next() % 4,
            _ => self.next() % 64,
        };
        code.wrapping_add(step) & self.mask()
    }

    /// 3/4; 0 in types without fractions, and the smallest power of two in that of powers.
    pub(super) fn limit(&self) -> u64 {
        match self.mantissa() {
            0 => 0,
            mantissa => self.middle() - (1 << (mantissa - 1)),
        }
    }

    /// Some number that is much larger than 1.
    pub(super) fn large(&self) -> u64 {
        if self.is_real() { (self.middle() + (3 << self.mantissa())) & self.mask() } else { self.mask() >> 1 }
    }

    /// All codes of a type of at most 8 bits. Of others those around every border: zeros, the smallest and the largest
    /// numbers of each kind, one, infinities, NaN, with their neighbours and of both signs.
    pub(super) fn special(&self) -> Vec<u64> {
        if self.bits <= 8 {
            return (0..=self.mask()).collect();
        }
        let top = 1 << (self.bits - 1);
        let mut borders = vec![0, 1, 2, top - 1];
        if self.is_real() {
            let (mantissa, middle) = (1 << self.mantissa(), self.middle());
            let infinity = (top - 1) / mantissa * mantissa;
            borders.extend([mantissa, middle, middle + mantissa, infinity, infinity + mantissa / 2]);
            // Numbers whose squares overflow, on both sides.
            borders.extend([middle / 4, middle + middle / 2 + middle / 4]);
        }
        let around = borders.into_iter().flat_map(|code: u64| [code.saturating_sub(1), code, code + 1]);
        let mut codes: Vec<u64> =
            around.flat_map(|code| [code, code ^ top]).map(|code| code & self.mask()).collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    }
}

/// The bytes of elements; those of less than a byte from the lowest bits on.
pub(super) fn pack(dtype: DType, codes: &[u64]) -> Vec<u8> {
    let bits = dtype.bits() as usize / if dtype.is_complex() { 2 } else { 1 };
    if bits >= 8 {
        return codes.iter().flat_map(|code| code.to_le_bytes().into_iter().take(bits / 8)).collect();
    }
    let mut bytes = vec![0; (codes.len() * bits).div_ceil(8)];
    for (position, code) in codes.iter().enumerate() {
        for bit in 0..bits {
            let at = position * bits + bit;
            bytes[at / 8] |= ((code >> bit & 1) as u8) << (at % 8);
        }
    }
    bytes
}
