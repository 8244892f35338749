//! Floats of every width, to and from `f64`, which holds each of them exactly.
//!
//! The small ones follow ONNX's pages "Float stored in 8 bits" and "Float stored in 4 bits".

#![expect(clippy::arithmetic_side_effects, reason = "bits of floats")]

use crate::tensor::DType;

/// A float of a sign, an exponent and a mantissa in at most 16 bits.
#[derive(Clone, Copy)]
struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    special: Special,
}

/// Which codes are not numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    /// The largest exponent, as IEEE 754 has it: infinities and NaN.
    Ieee,
    /// The largest code is NaN; no infinities.
    LastIsNan,
    /// Minus zero is NaN; no infinities.
    MinusZeroIsNan,
    /// Every code is a number.
    None,
}

impl Format {
    const fn for_type(dtype: DType) -> Option<Self> {
        let (exponent_bits, mantissa_bits, bias, special) = match dtype {
            DType::F16 => (5, 10, 15, Special::Ieee),
            DType::BF16 => (8, 7, 127, Special::Ieee),
            DType::F8E4M3FN => (4, 3, 7, Special::LastIsNan),
            DType::F8E4M3FNUZ => (4, 3, 8, Special::MinusZeroIsNan),
            DType::F8E5M2 => (5, 2, 15, Special::Ieee),
            DType::F8E5M2FNUZ => (5, 2, 16, Special::MinusZeroIsNan),
            DType::F4E2M1 => (2, 1, 1, Special::None),
            DType::F6E2M3 => (2, 3, 1, Special::None),
            DType::F6E3M2 => (3, 2, 3, Special::None),
            _ => return None,
        };
        Some(Self { exponent_bits, mantissa_bits, bias, special })
    }

    const fn sign(self) -> u16 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    /// The largest code that is a finite number.
    const fn max(self) -> u16 {
        match self.special {
            Special::Ieee => (((1 << self.exponent_bits) - 1) << self.mantissa_bits) - 1,
            Special::LastIsNan => self.sign() - 2,
            Special::MinusZeroIsNan | Special::None => self.sign() - 1,
        }
    }

    const fn infinity(self) -> Option<u16> {
        match self.special {
            Special::Ieee => Some(self.max() + 1),
            _ => None,
        }
    }

    fn nan(self) -> u16 {
        match self.special {
            // Quiet, as every implementation writes it.
            Special::Ieee if self.mantissa_bits > 2 => (self.max() + 1) | 1 << (self.mantissa_bits - 1),
            Special::Ieee | Special::LastIsNan => self.sign() - 1,
            Special::MinusZeroIsNan => self.sign(),
            // As in NumPy's type; ONNX leaves it open.
            Special::None => self.sign(),
        }
    }

    fn decode(self, code: u16) -> f64 {
        let low = code & (self.sign() - 1);
        let sign = if code & self.sign() == 0 { 1.0 } else { -1.0 };
        if self.special == Special::MinusZeroIsNan && code == self.sign() {
            return f64::NAN;
        }
        if low > self.max() {
            return if Some(low) == self.infinity() { sign * f64::INFINITY } else { f64::NAN };
        }
        let mantissa = i32::from(low) & ((1 << self.mantissa_bits) - 1);
        let exponent = i32::from(low) >> self.mantissa_bits;
        let (mantissa, exponent) = match exponent {
            0 => (mantissa, 1),
            _ => (mantissa + (1 << self.mantissa_bits), exponent),
        };
        sign * f64::from(mantissa) * 2f64.powi(exponent - self.bias - self.mantissa_bits as i32)
    }

    /// The nearest code, ties to even. A number that is too large becomes the largest one when `saturate` is set and the
    /// type has few bits, else infinity or, without one, NaN.
    fn encode(self, x: f64, saturate: bool) -> u16 {
        if x.is_nan() {
            return self.nan();
        }
        let sign = if x.is_sign_negative() { self.sign() } else { 0 };
        let magnitude = x.abs();
        let saturates = self.special == Special::None || (saturate && self.sign() <= 0x80);
        let overflow =
            if saturates { sign | self.max() } else { self.infinity().map_or(self.nan(), |i| sign | i) };
        if magnitude.is_infinite() {
            return overflow;
        }
        // The exponent of the last place: that of the value, or that of the subnormal numbers.
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - self.bias);
        let place = exponent - self.mantissa_bits as i32;
        // Exact: a power of two, and `f64` has room on both sides.
        let steps = (magnitude * 2f64.powi(-place)).round_ties_even();
        // A carry out of the mantissa lands in the exponent, as it should.
        let code = steps + f64::from(exponent + self.bias - 1) * f64::from(1u32 << self.mantissa_bits);
        if code > f64::from(self.max()) {
            return overflow;
        }
        match code as u16 {
            0 if self.special == Special::MinusZeroIsNan => 0,
            code => sign | code,
        }
    }
}

/// The value of the code of a small float; `None` if `dtype` is not a float of at most 16 bits.
pub fn decode(dtype: DType, code: u16) -> Option<f64> {
    if dtype == DType::F8E8M0 {
        return Some(if code == 0xff { f64::NAN } else { 2f64.powi(i32::from(code) - 127) });
    }
    Some(Format::for_type(dtype)?.decode(code))
}

/// The code of the nearest value, ties to even; `None` if `dtype` is not a float of at most 16 bits.
pub(super) fn encode(dtype: DType, x: f64, saturate: bool) -> Option<u16> {
    if dtype == DType::F8E8M0 {
        return Some(scale(x, Rounding::Up, saturate));
    }
    Some(Format::for_type(dtype)?.encode(x, saturate))
}

/// How `Cast` rounds to [`DType::F8E8M0`], which holds powers of two only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the next larger power of two.
    Up,
    /// To the next smaller one.
    Down,
    /// To the nearest one; ties go up.
    Nearest,
}

/// The code of a power of two near `x`.
pub(crate) fn scale(x: f64, rounding: Rounding, saturate: bool) -> u16 {
    const NAN: u16 = 0xff;
    let magnitude = x.abs();
    if magnitude.is_nan() || (magnitude.is_infinite() && !saturate) {
        return NAN;
    }
    if magnitude.is_infinite() {
        return NAN - 1;
    }
    if magnitude < 2f64.powi(-127) {
        return 0;
    }
    let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
    let fraction = magnitude / 2f64.powi(exponent);
    let up = match rounding {
        Rounding::Up => fraction > 1.0,
        Rounding::Down => false,
        Rounding::Nearest => fraction >= 1.5,
    };
    let code = exponent + 127 + i32::from(up);
    match (u16::try_from(code), saturate) {
        (Ok(code), _) if code < NAN => code,
        (_, true) => NAN - 1,
        (_, false) => NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};
    use crate::tensor::DType;

    #[test]
    fn every_code_of_every_small_float_reads_back() {
        let types = [
            (DType::F16, 16),
            (DType::BF16, 16),
            (DType::F8E4M3FN, 8),
            (DType::F8E4M3FNUZ, 8),
            (DType::F8E5M2, 8),
            (DType::F8E5M2FNUZ, 8),
            (DType::F8E8M0, 8),
            (DType::F4E2M1, 4),
            (DType::F6E2M3, 6),
            (DType::F6E3M2, 6),
        ];
        for (dtype, bits) in types {
            for code in 0..=(u32::MAX >> (32 - bits)) as u16 {
                let value = decode(dtype, code).unwrap();
                let back = encode(dtype, value, false).unwrap();
                assert!(
                    back == code || (value.is_nan() && decode(dtype, back).unwrap().is_nan()),
                    "{dtype} {code:#x}"
                );
            }
        }
    }

    #[test]
    fn halves_round_as_the_half_crate_does() {
        for bits in (0..=u32::MAX).step_by(65_521) {
            let x = f32::from_bits(bits);
            if x.is_nan() {
                continue;
            }
            assert_eq!(encode(DType::F16, x.into(), true).unwrap(), half::f16::from_f32(x).to_bits(), "{x}");
            assert_eq!(
                encode(DType::BF16, x.into(), true).unwrap(),
                half::bf16::from_f32(x).to_bits(),
                "{x}"
            );
        }
    }

    #[test]
    fn a_tie_that_only_f64_can_see_is_not_one() {
        let above = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(encode(DType::F16, above, true), Some(0x3c01));
        assert_eq!(encode(DType::F16, 1.0 + 2f64.powi(-11), true), Some(0x3c00));
    }
}
