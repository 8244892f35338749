//! Casts of elements: see [`Transform::Cast`](super::Transform::Cast).

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::super::{DType, Error, Kind};
use super::float8;

/// A cast that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tensor) struct Cast {
    from: DType,
    to: DType,
}

/// Elements that are converted at a time, on the stack.
pub(in crate::tensor) const LANES: usize = 256;

impl Cast {
    /// The cast, if both types have room for its values.
    pub(in crate::tensor) fn between(from: DType, to: DType) -> Option<Self> {
        let known = |dtype| is_float(dtype) || is_int(dtype);
        let possible = known(from) && known(to) && (is_float(to) || is_int(from));
        possible.then_some(Self { from, to })
    }

    /// Converts `input` to `out`, which have as many elements.
    ///
    /// # Errors
    /// If an integer does not fit the new type.
    pub(in crate::tensor) fn apply(self, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let Self { from, to } = self;
        if from == to {
            out.copy_from_slice(input);
            return Ok(());
        }
        if is_int(from) {
            return self.exactly(input, out);
        }
        if from == DType::F64 || to == DType::F64 {
            self.through_f64(input, out);
            return Ok(());
        }
        // Every other float is exactly an f32.
        let (from_size, to_size) = (size(from), size(to));
        let mut lanes = [0f32; LANES];
        for (input, out) in input.chunks(LANES * from_size).zip(out.chunks_mut(LANES * to_size)) {
            let lanes = lanes.get_mut(..input.len() / from_size).unwrap_or_default();
            load(from, input, lanes);
            store(to, lanes, out);
        }
        Ok(())
    }

    fn through_f64(self, input: &[u8], out: &mut [u8]) {
        let (from, to) = (size(self.from), size(self.to));
        let mut lanes = [0f64; LANES];
        for (input, out) in input.chunks(LANES * from).zip(out.chunks_mut(LANES * to)) {
            let lanes = lanes.get_mut(..input.len() / from).unwrap_or_default();
            load_wide(self.from, input, lanes);
            store_wide(self.to, lanes, out);
        }
    }

    fn exactly(self, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let (from, to) = (size(self.from), size(self.to));
        for (input, out) in input.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
            let value = integer(self.from, input);
            if !put(self.to, value, out) {
                return Err(Error::Value(format!("{value} does not fit in {}", self.to)));
            }
        }
        Ok(())
    }
}

fn is_float(dtype: DType) -> bool {
    dtype.kind() == Kind::Float && dtype.bits() >= 8 && dtype != DType::F8E8M0
}

pub(in crate::tensor) fn is_int(dtype: DType) -> bool {
    matches!(dtype.kind(), Kind::Int | Kind::Bool) && dtype.bits() >= 8
}

/// Bytes of an element.
fn size(dtype: DType) -> usize {
    (dtype.bits() / 8) as usize
}

/// Widens elements of a float type other than f64.
pub(in crate::tensor) fn load(from: DType, input: &[u8], out: &mut [f32]) {
    match from {
        DType::F32 => {
            for (bytes, out) in input.as_chunks::<4>().0.iter().zip(out) {
                *out = f32::from_le_bytes(*bytes);
            }
        }
        DType::F16 => {
            let mut halves = [f16::ZERO; LANES];
            for (bytes, out) in input.chunks(2 * LANES).zip(out.chunks_mut(LANES)) {
                let halves = halves.get_mut(..out.len()).unwrap_or_default();
                for (bytes, half) in bytes.as_chunks::<2>().0.iter().zip(halves.iter_mut()) {
                    *half = f16::from_le_bytes(*bytes);
                }
                halves.convert_to_f32_slice(out);
            }
        }
        DType::BF16 => {
            for (bytes, out) in input.as_chunks::<2>().0.iter().zip(out) {
                *out = f32::from_bits(u32::from(u16::from_le_bytes(*bytes)) << 16);
            }
        }
        from => {
            for (code, out) in input.iter().zip(out) {
                *out = float8::decode(from, *code).unwrap_or(f32::NAN);
            }
        }
    }
}

/// Rounds to a float type other than f64. At most [`LANES`] elements.
pub(in crate::tensor) fn store(to: DType, lanes: &[f32], out: &mut [u8]) {
    match to {
        DType::F32 => {
            for (out, lane) in out.as_chunks_mut::<4>().0.iter_mut().zip(lanes) {
                *out = lane.to_le_bytes();
            }
        }
        DType::F16 => {
            let mut halves = [f16::ZERO; LANES];
            let halves = halves.get_mut(..lanes.len()).unwrap_or_default();
            // By the processor's own instruction, where it has one.
            halves.convert_from_f32_slice(lanes);
            for (out, half) in out.as_chunks_mut::<2>().0.iter_mut().zip(halves) {
                *out = half.to_le_bytes();
            }
        }
        DType::BF16 => {
            for (out, lane) in out.as_chunks_mut::<2>().0.iter_mut().zip(lanes) {
                *out = to_bf16(*lane).to_le_bytes();
            }
        }
        to => {
            for (out, lane) in out.iter_mut().zip(lanes) {
                *out = float8::encode(to, f64::from(*lane)).unwrap_or_default();
            }
        }
    }
}

/// Widens elements of any float type to f64; at most [`LANES`].
pub(in crate::tensor) fn load_wide(from: DType, input: &[u8], out: &mut [f64]) {
    if from == DType::F64 {
        for (bytes, out) in input.as_chunks::<8>().0.iter().zip(out) {
            *out = f64::from_le_bytes(*bytes);
        }
        return;
    }
    // Every other float is exactly an f32.
    let mut narrow = [0f32; LANES];
    let narrow = narrow.get_mut(..out.len()).unwrap_or_default();
    load(from, input, narrow);
    for (out, lane) in out.iter_mut().zip(narrow) {
        *out = f64::from(*lane);
    }
}

/// Rounds from f64 to any float type, once.
pub(in crate::tensor) fn store_wide(to: DType, lanes: &[f64], out: &mut [u8]) {
    match to {
        DType::F64 => {
            for (out, lane) in out.as_chunks_mut::<8>().0.iter_mut().zip(lanes) {
                *out = lane.to_le_bytes();
            }
        }
        DType::F32 => {
            for (out, lane) in out.as_chunks_mut::<4>().0.iter_mut().zip(lanes) {
                *out = (*lane as f32).to_le_bytes();
            }
        }
        DType::F16 => {
            for (out, lane) in out.as_chunks_mut::<2>().0.iter_mut().zip(lanes) {
                *out = f16::from_f32(odd(*lane)).to_le_bytes();
            }
        }
        DType::BF16 => {
            for (out, lane) in out.as_chunks_mut::<2>().0.iter_mut().zip(lanes) {
                *out = to_bf16(odd(*lane)).to_le_bytes();
            }
        }
        to => {
            for (out, lane) in out.iter_mut().zip(lanes) {
                *out = float8::encode(to, *lane).unwrap_or_default();
            }
        }
    }
}

/// The upper half of an f32, rounded to nearest, ties to even; every NaN becomes PyTorch's.
fn to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if x.is_nan() { bf16::NAN.to_bits() } else { rounded as u16 }
}

/// The f32 next to `x` that rounds as `x` does to anything with fewer bits: the last bit is set when
/// any is lost ("rounding to odd").
fn odd(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || near.is_nan() || near.is_infinite() && x.is_infinite() {
        return near;
    }
    // Towards zero, then the sticky bit.
    let bits = near.to_bits();
    let truncated = if f64::from(near).abs() > x.abs() { bits - 1 } else { bits };
    f32::from_bits(truncated | 1)
}

pub(in crate::tensor) fn integer(dtype: DType, bytes: &[u8]) -> i128 {
    let mut wide = [0; 16];
    for (place, byte) in wide.iter_mut().zip(bytes) {
        *place = *byte;
    }
    let value = i128::from_le_bytes(wide);
    let signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
    // The sign moves up to the top and back.
    let unused = 128 - dtype.bits();
    if signed { value << unused >> unused } else { value }
}

/// Stores `value` if `dtype` has it.
pub(in crate::tensor) fn put(dtype: DType, value: i128, out: &mut [u8]) -> bool {
    let bits = dtype.bits();
    let fits = match dtype {
        DType::Bool => (0..=1).contains(&value),
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => {
            (-(1i128 << (bits - 1))..1i128 << (bits - 1)).contains(&value)
        }
        dtype if is_int(dtype) => (0..1i128 << bits).contains(&value),
        DType::F64 => {
            let float = value as f64;
            out.copy_from_slice(&float.to_le_bytes());
            return float as i128 == value;
        }
        dtype => {
            let float = value as f32;
            store(dtype, &[float], out);
            let mut back = [0f32];
            load(dtype, out, &mut back);
            return float as i128 == value && back[0] == float;
        }
    };
    if fits {
        for (place, byte) in out.iter_mut().zip(value.to_le_bytes()) {
            *place = byte;
        }
    }
    fits
}
