//! The 8-bit floats of ONNX, after its "Float stored in 8 bits" page and the OFP8 specification.

use super::super::DType;

/// How a type uses its codes.
#[derive(Clone, Copy)]
struct Format {
    mantissa_bits: i32,
    bias: i32,
    /// The largest finite code without the sign.
    max: u8,
    /// Zero has no sign, and its code with the sign set is the only NaN.
    unsigned_zero: bool,
}

const fn format(dtype: DType) -> Option<Format> {
    Some(match dtype {
        DType::F8E4M3FN => Format { mantissa_bits: 3, bias: 7, max: 0x7e, unsigned_zero: false },
        DType::F8E4M3FNUZ => Format { mantissa_bits: 3, bias: 8, max: 0x7f, unsigned_zero: true },
        DType::F8E5M2 => Format { mantissa_bits: 2, bias: 15, max: 0x7b, unsigned_zero: false },
        DType::F8E5M2FNUZ => Format { mantissa_bits: 2, bias: 16, max: 0x7f, unsigned_zero: true },
        _ => return None,
    })
}

/// Returns the code of `x`, rounded to the nearest value, ties to even; values that are too large, infinities
/// included, saturate, as in the reference implementation of ONNX's `Cast`. `None` if `dtype` is not an 8-bit
/// float.
pub(super) fn encode(dtype: DType, x: f64) -> Option<u8> {
    let Format { mantissa_bits, bias, max, unsigned_zero } = format(dtype)?;
    if x.is_nan() {
        return Some(if unsigned_zero { 0x80 } else { 0x7f });
    }
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    let magnitude = x.abs();
    // The exponent of the last mantissa bit: that of the value, or that of the subnormal numbers.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - bias);
    let place = exponent - mantissa_bits;
    // Exact: a power of two, and `f64` has room on both sides.
    let steps = (magnitude * 2f64.powi(-place)).round_ties_even();
    let code = if steps.is_finite() {
        // A carry out of the mantissa lands in the exponent, as it should.
        let code = steps + f64::from((exponent + bias - 1) << mantissa_bits);
        code.min(f64::from(max)) as u8
    } else {
        max
    };
    Some(if code == 0 && unsigned_zero { 0 } else { sign | code })
}

/// Returns the value of a code; `None` if `dtype` is not an 8-bit float.
pub(super) fn decode(dtype: DType, code: u8) -> Option<f32> {
    let Format { mantissa_bits, bias, max, unsigned_zero } = format(dtype)?;
    if unsigned_zero && code == 0x80 {
        return Some(f32::NAN);
    }
    let low = code & 0x7f;
    let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
    if low > max {
        let infinite = matches!(dtype, DType::F8E5M2) && low == 0x7c;
        return Some(if infinite { sign * f32::INFINITY } else { f32::NAN });
    }
    let mantissa = i32::from(low) & ((1 << mantissa_bits) - 1);
    let exponent = i32::from(low) >> mantissa_bits;
    let (mantissa, exponent) =
        if exponent == 0 { (mantissa, 1) } else { (mantissa + (1 << mantissa_bits), exponent) };
    Some(sign * mantissa as f32 * 2f32.powi(exponent - bias - mantissa_bits))
}
