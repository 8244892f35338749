//! Constants: numbers turned into the bytes of an element type, and back.

use crate::lent::Lent;
use half::{bf16, f16};

use crate::abi::lowering::DataView;
use crate::{DType, Scalar};
use onnxport_abi::RSlice;

/// The contents of a small constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    /// The element type.
    pub dtype: DType,
    /// The extents.
    pub shape: Vec<u64>,
    bytes: Vec<u8>,
}

impl Literal {
    pub(crate) fn read(view: &DataView<'_>) -> Option<Self> {
        let dtype = DType::from_onnx(view.dtype)?;
        Some(Self { dtype, shape: view.dims.lent().to_vec(), bytes: view.bytes.lent().to_vec() })
    }

    /// The elements, little-endian and row-major.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn view(&self) -> DataView<'_> {
        DataView {
            dtype: self.dtype.onnx(),
            dims: RSlice::from_slice(&self.shape),
            bytes: RSlice::from_slice(&self.bytes),
        }
    }

    /// The elements as integers, for the integer types and `bool`.
    pub fn ints(&self) -> Option<Vec<i64>> {
        fn each<const N: usize>(bytes: &[u8], read: fn([u8; N]) -> i64) -> Option<Vec<i64>> {
            bytes.chunks_exact(N).map(|c| c.try_into().ok().map(read)).collect()
        }
        let bytes = self.bytes.as_slice();
        match self.dtype {
            DType::Bool | DType::U8 => each::<1>(bytes, |b| i64::from(b[0])),
            DType::I8 => each::<1>(bytes, |b| i64::from(i8::from_le_bytes(b))),
            DType::I16 => each::<2>(bytes, |b| i64::from(i16::from_le_bytes(b))),
            DType::U16 => each::<2>(bytes, |b| i64::from(u16::from_le_bytes(b))),
            DType::I32 => each::<4>(bytes, |b| i64::from(i32::from_le_bytes(b))),
            DType::U32 => each::<4>(bytes, |b| i64::from(u32::from_le_bytes(b))),
            DType::I64 => each::<8>(bytes, i64::from_le_bytes),
            _ => None,
        }
    }

    /// The elements as floats, for every real type of 8 bits or more.
    pub fn floats(&self) -> Option<Vec<f64>> {
        let bytes = self.bytes.as_slice();
        Some(match self.dtype {
            DType::F32 => bytes
                .chunks_exact(4)
                .map(|c| c.try_into().map(f32::from_le_bytes).map(f64::from))
                .collect::<Result<_, _>>()
                .ok()?,
            DType::F64 => bytes
                .chunks_exact(8)
                .map(|c| c.try_into().map(f64::from_le_bytes))
                .collect::<Result<_, _>>()
                .ok()?,
            DType::F16 => bytes
                .chunks_exact(2)
                .map(|c| c.try_into().map(|b| f16::from_le_bytes(b).to_f64()))
                .collect::<Result<_, _>>()
                .ok()?,
            DType::BF16 => bytes
                .chunks_exact(2)
                .map(|c| c.try_into().map(|b| bf16::from_le_bytes(b).to_f64()))
                .collect::<Result<_, _>>()
                .ok()?,
            _ => self.ints()?.into_iter().map(|n| n as f64).collect(),
        })
    }
}

/// Whether `dtype` can represent the number: an integer type has neither fractions nor numbers out of its range.
pub(crate) fn holds(dtype: DType, number: &Scalar) -> bool {
    let bits = dtype.bits().clamp(1, 64);
    let (low, high) = match dtype {
        DType::Bool => (0, 1),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => (0, (1_i128 << bits) - 1),
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => {
            (-1_i128 << (bits - 1), (1_i128 << (bits - 1)) - 1)
        }
        _ => return true,
    };
    match *number {
        Scalar::Int(n) => (low..=high).contains(&i128::from(n)),
        Scalar::Float(x) => x.fract() == 0.0 && (low..=high).contains(&(x as i128)),
        _ => true,
    }
}

/// The bytes of `number` as one element of `dtype`, converted as `Tensor.to` does; `None` for types
/// that have no such constants.
pub(crate) fn element(number: &Scalar, dtype: DType) -> Option<Vec<u8>> {
    let (float, int) = match *number {
        Scalar::Int(n) => (n as f64, n),
        Scalar::Float(x) => (x, x as i64),
        Scalar::Bool(b) => (f64::from(u8::from(b)), i64::from(b)),
        Scalar::Complex(..) | Scalar::Sym(_) => return None,
    };
    Some(match dtype {
        DType::F32 => (float as f32).to_le_bytes().to_vec(),
        DType::F64 => float.to_le_bytes().to_vec(),
        DType::F16 => f16::from_f64(float).to_le_bytes().to_vec(),
        DType::BF16 => bf16::from_f64(float).to_le_bytes().to_vec(),
        DType::Bool => vec![u8::from(int != 0 || float != 0.0)],
        DType::U8 | DType::I8 => vec![int as u8],
        DType::U16 | DType::I16 => (int as u16).to_le_bytes().to_vec(),
        DType::U32 | DType::I32 => (int as u32).to_le_bytes().to_vec(),
        // Beyond the largest i64.
        DType::U64 if matches!(number, Scalar::Float(x) if *x >= i64::MAX as f64) => {
            (float as u64).to_le_bytes().to_vec()
        }
        DType::U64 | DType::I64 => int.to_le_bytes().to_vec(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_floats_are_elements_of_u64() {
        let bytes = |x: f64| element(&Scalar::Float(x), DType::U64).unwrap();
        assert_eq!(bytes(9_223_372_036_854_775_808.0), (1_u64 << 63).to_le_bytes());
        assert_eq!(bytes(1e19), 10_000_000_000_000_000_000_u64.to_le_bytes());
        assert_eq!(element(&Scalar::Int(i64::MAX), DType::U64).unwrap(), i64::MAX.to_le_bytes());
    }
}
