//! Rounding to nearest: the step of a block, and the codes of its values.

use half::{bf16, f16};

use super::super::super::{DType, Error};
use super::{Bits, Quantise};

/// Values that are looked at side by side, so that the compiler uses vectors.
const LANES: usize = 16;

/// Added to a small number and taken away again, it rounds to the nearest integer, ties to even, because
/// the floats around it are integers. Its lowest bits are that integer.
const ROUNDS: f32 = 12_582_912.0;

/// The scale and the zero point of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) scale: f32,
    pub(super) zero: i32,
}

/// The smallest and the largest of some values, and 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    low: f32,
    high: f32,
}

impl Bounds {
    /// Widens the range to include `values`.
    ///
    /// # Errors
    /// If a value is not finite.
    pub(super) fn widen(&mut self, values: &[f32]) -> Result<(), Error> {
        let (mut low, mut high, mut odd) = ([self.low; LANES], [self.high; LANES], [0f32; LANES]);
        let (chunks, rest) = values.as_chunks::<LANES>();
        let mut last = [0f32; LANES];
        for (place, value) in last.iter_mut().zip(rest) {
            *place = *value;
        }
        for chunk in chunks.iter().chain([&last]) {
            for (((low, high), odd), value) in low.iter_mut().zip(&mut high).zip(&mut odd).zip(chunk) {
                *low = if value < low { *value } else { *low };
                *high = if value > high { *value } else { *high };
                // Infinities and NaN become NaN, all else 0.
                *odd += value * 0.0;
            }
        }
        if odd.iter().any(|odd| odd.is_nan()) {
            let bad = values.iter().find(|value| !value.is_finite()).unwrap_or(&f32::NAN);
            return Err(Error::Value(format!("a weight is {bad}, which cannot be quantised")));
        }
        self.low = low.into_iter().fold(self.low, f32::min);
        self.high = high.into_iter().fold(self.high, f32::max);
        Ok(())
    }

    /// The step of a block with these bounds, of weights of type `dtype`.
    pub(super) fn step(self, form: &Quantise, dtype: DType) -> Step {
        let (low, high) = (f64::from(self.low), f64::from(self.high));
        let codes = form.bits.codes(form.symmetric);
        let levels = f64::from(*codes.end());
        let width = match form.bits {
            // There is one code more below zero than above, which is much among 16: the value of the largest magnitude has it,
            // and the scale is negative where that value is positive.
            Bits::Four if form.symmetric => {
                let largest = if high > -low { high } else { low };
                largest * levels / f64::from(*codes.start())
            }
            _ if form.symmetric => high.max(-low),
            _ => high - low,
        };
        let scale = round_scale(dtype, (width / levels) as f32);
        let scale = if scale == 0.0 { 1.0 } else { scale };
        let zero = if form.symmetric { 0.0 } else { (-low / f64::from(scale)).round_ties_even() };
        Step { scale, zero: zero.clamp(0.0, levels) as i32 }
    }
}

/// The codes of `values`, as bytes: `round(value / scale) + zero`, no further than the type goes.
pub(super) fn codes(form: &Quantise, values: &[f32], step: Step, out: &mut [u8]) {
    let codes = form.bits.codes(form.symmetric);
    let (low, high) = (*codes.start(), *codes.end());
    for (value, place) in values.iter().zip(out) {
        // Values beyond the range saturate at the last code.
        let quotient = (value / step.scale).clamp(-1024.0, 1024.0);
        let code = (quotient + ROUNDS).to_bits() as i32 - ROUNDS.to_bits() as i32;
        *place = (code + step.zero).clamp(low, high) as u8;
    }
}

/// The scale as `dtype` stores it.
pub(super) fn round_scale(dtype: DType, scale: f32) -> f32 {
    match dtype {
        DType::F16 => f16::from_f32(scale).to_f32(),
        DType::BF16 => bf16::from_f32(scale).to_f32(),
        _ => scale,
    }
}

pub(super) fn put_scale(dtype: DType, scale: f32, out: &mut [u8]) {
    match dtype {
        DType::F16 => out.copy_from_slice(&f16::from_f32(scale).to_le_bytes()),
        DType::BF16 => out.copy_from_slice(&bf16::from_f32(scale).to_le_bytes()),
        _ => out.copy_from_slice(&scale.to_le_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Blocks, Part};
    use super::*;

    #[test]
    fn the_largest_magnitude_of_symmetric_int4_has_the_code_that_has_no_opposite() {
        let blocks = Blocks { axis: 0, size: 4 };
        let form = Quantise { bits: Bits::Four, symmetric: true, blocks, part: Part::Codes, quantiser: None };
        for (values, scale, expected) in [
            ([16.0, -6.0, 2.0, 0.0], -2.0, [-8, 3, -1, 0]),
            ([-16.0, 6.0, 2.0, 14.0], 2.0, [-8, 3, 1, 7]),
            ([0.0; 4], 1.0, [0; 4]),
        ] {
            let mut bounds = Bounds::default();
            bounds.widen(&values).unwrap();
            let step = bounds.step(&form, DType::F32);
            let mut made = [0; 4];
            codes(&form, &values, step, &mut made);
            assert_eq!((step.scale, made.map(|code| code as i8)), (scale, expected), "{values:?}");
        }
    }

    #[test]
    fn codes_round_to_nearest_ties_to_even() {
        let blocks = Blocks { axis: 0, size: 1 };
        let form =
            Quantise { bits: Bits::Eight, symmetric: true, blocks, part: Part::Codes, quantiser: None };
        let mut random = 1u32;
        let mut values: Vec<f32> = (-300..300).map(|i| i as f32 * 0.5).collect();
        for _ in 0..10_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            values.push(f32::from_bits(random & 0xc3ff_ffff));
        }
        for scale in [1.0, 0.37, 3.0e-39] {
            let mut made = vec![0; values.len()];
            codes(&form, &values, Step { scale, zero: 0 }, &mut made);
            for (value, code) in values.iter().zip(made) {
                let expected = ((value / scale).round_ties_even() as i32).clamp(-128, 127);
                assert_eq!(i32::from(code as i8), expected, "{value} / {scale}");
            }
        }
    }
}
