//! Elements of tensors as comparable numbers.

use half::{bf16, f16};

use crate::ops::decode_float;
use crate::tensor::{DType, Kind};

/// A float with its rank among the numbers of its type.
#[derive(Clone, Copy)]
pub(super) struct Real {
    /// The exact value.
    pub(super) value: f64,
    /// The position in the order of values: neighbours differ by one; zeros of both signs are at 0.
    pub(super) order: i64,
}

/// A visitor of pairs of elements.
pub(super) trait Visit {
    /// Two floats.
    fn reals(&mut self, got: Real, expected: Real);
    /// Two integers of at most 64 bits, or truth values.
    fn integers(&mut self, got: i128, expected: i128);
}

/// A reader for the elements of a type.
pub(super) enum Reader {
    /// Elements of whole bytes, of at least 16 bits or not floats.
    Whole(DType),
    /// Floats of a byte or less: the value and the rank of each code.
    Codes { bits: u32, reals: Vec<Real> },
    /// Integers of less than a byte, packed from the lowest bits of each byte on.
    Packed { bits: u32, signed: bool },
}

impl Reader {
    /// Returns the reader for a type. Complex numbers are read as two floats. Text has no bytes, and so no elements.
    pub(super) fn for_type(dtype: DType) -> Self {
        let bits = dtype.bits();
        match dtype.kind() {
            Kind::Float if bits <= 8 => {
                let signed = dtype != DType::F8E8M0;
                let real = |code: u16| Real {
                    value: decode_float(dtype, code).unwrap_or(f64::NAN),
                    order: if signed { order(code.into(), bits) } else { code.into() },
                };
                Self::Codes { bits, reals: (0..1 << bits).map(real).collect() }
            }
            Kind::Int if bits < 8 => Self::Packed { bits, signed: matches!(dtype, DType::I4 | DType::I2) },
            _ => Self::Whole(dtype),
        }
    }

    /// Visits all pairs of elements of the two tensors, but no more than `count`.
    pub(super) fn pairs(&self, got: &[u8], expected: &[u8], count: u64, visit: &mut impl Visit) {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        match self {
            Self::Codes { bits, reals } => {
                let real = |code: u8| reals.get(usize::from(code)).copied().unwrap_or(NOTHING);
                for (got, expected) in codes(got, *bits).zip(codes(expected, *bits)).take(count) {
                    visit.reals(real(got), real(expected));
                }
            }
            Self::Packed { bits, signed } => {
                let top = 1 << (bits - 1);
                let number = |code: u8| {
                    let code = i128::from(code);
                    if *signed && code & top != 0 { code - 2 * top } else { code }
                };
                for (got, expected) in codes(got, *bits).zip(codes(expected, *bits)).take(count) {
                    visit.integers(number(got), number(expected));
                }
            }
            Self::Whole(dtype) => whole(*dtype, got, expected, count, visit),
        }
    }
}

const NOTHING: Real = Real { value: f64::NAN, order: 0 };

/// Returns the rank of a signed float of `bits` bits.
fn order(code: u64, bits: u32) -> i64 {
    let sign = 1 << (bits - 1);
    let magnitude = (code & (sign - 1)) as i64;
    if code & sign == 0 { magnitude } else { -magnitude }
}

/// The codes of `bits` bits, from the lowest bits of each byte on; a code may lie in two bytes.
fn codes(bytes: &[u8], bits: u32) -> impl Iterator<Item = u8> {
    let count = bytes.len() as u64 * 8 / u64::from(bits);
    (0..count).map(move |position| {
        let bit = position * u64::from(bits);
        let byte = |n: u64| bytes.get((bit / 8 + n) as usize).copied().unwrap_or(0);
        let pair = u16::from_le_bytes([byte(0), byte(1)]);
        (pair >> (bit % 8)) as u8 & (u8::MAX >> (8 - bits))
    })
}

fn elements<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks().0.iter().copied()
}

fn whole(dtype: DType, got: &[u8], expected: &[u8], count: usize, visit: &mut impl Visit) {
    macro_rules! each {
        ($method:ident, $read:expr) => {
            for (got, expected) in elements(got).zip(elements(expected)).take(count) {
                visit.$method($read(got), $read(expected));
            }
        };
    }
    let f32 = |b| {
        let value = f32::from_le_bytes(b);
        Real { value: value.into(), order: order(value.to_bits().into(), 32) }
    };
    let f64 = |b| {
        let value = f64::from_le_bytes(b);
        Real { value, order: order(value.to_bits(), 64) }
    };
    let f16 = |b| {
        let value = f16::from_le_bytes(b);
        Real { value: value.to_f64(), order: order(value.to_bits().into(), 16) }
    };
    let bf16 = |b| {
        let value = bf16::from_le_bytes(b);
        Real { value: value.to_f64(), order: order(value.to_bits().into(), 16) }
    };
    match dtype {
        DType::F32 | DType::C64 => each!(reals, f32),
        DType::F64 | DType::C128 => each!(reals, f64),
        DType::F16 => each!(reals, f16),
        DType::BF16 => each!(reals, bf16),
        DType::I64 => each!(integers, |b| i64::from_le_bytes(b).into()),
        DType::U64 => each!(integers, |b| u64::from_le_bytes(b).into()),
        DType::I32 => each!(integers, |b| i32::from_le_bytes(b).into()),
        DType::U32 => each!(integers, |b| u32::from_le_bytes(b).into()),
        DType::I16 => each!(integers, |b| i16::from_le_bytes(b).into()),
        DType::U16 => each!(integers, |b| u16::from_le_bytes(b).into()),
        DType::I8 => each!(integers, |b| i8::from_le_bytes(b).into()),
        DType::Bool => each!(integers, |[b]: [u8; 1]| i128::from(b != 0)),
        _ => each!(integers, |b| u8::from_le_bytes(b).into()),
    }
}

/// Formats the element at `position`; half of one for complex types.
pub(crate) fn text(dtype: DType, bytes: &[u8], position: u64) -> String {
    let bits = dtype.bits() / if dtype.is_complex() { 2 } else { 1 };
    // The smallest number of bytes that holds whole elements, and their number.
    let (size, count) = if bits < 8 { (3, 24 / bits.max(1)) } else { (bits as usize / 8, 1) };
    let start = usize::try_from(position / u64::from(count)).ok().and_then(|group| group.checked_mul(size));
    let group = start.and_then(|start| bytes.get(start..)).unwrap_or_default();
    let group = group.get(..size).unwrap_or(group);
    let mut texts = Texts(Vec::new());
    Reader::for_type(dtype).pairs(group, group, u64::MAX, &mut texts);
    let at = position % u64::from(count);
    texts.0.into_iter().nth(at as usize).unwrap_or_default()
}

struct Texts(Vec<String>);

impl Visit for Texts {
    fn reals(&mut self, got: Real, _: Real) {
        self.0.push(got.value.to_string());
    }

    fn integers(&mut self, got: i128, _: i128) {
        self.0.push(got.to_string());
    }
}
