//! Constants: numbers turned into the bytes of an element type, and back.

use half::{bf16, f16};

use crate::abi::lowering::DataView;
use crate::{DType, Lower, Scalar, Value};
use onnxport_abi::abi_stable::std_types::RSlice;

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
        Some(Self { dtype, shape: view.dims.to_vec(), bytes: view.bytes.to_vec() })
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

/// The bytes of `number` as one element of `dtype`, converted as `Tensor.to` does; `None` for types
/// that have no such constants.
fn element(number: &Scalar, dtype: DType) -> Option<Vec<u8>> {
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
        DType::U64 | DType::I64 => int.to_le_bytes().to_vec(),
        _ => return None,
    })
}

impl Lower<'_> {
    /// A constant of these bytes: little-endian, row-major.
    pub fn constant(&mut self, dtype: DType, shape: &[u64], bytes: &[u8]) -> Value {
        let mut out = 0;
        let dims = RSlice::from_slice(shape);
        let answer = (self.host.constant)(self.cx, dtype.onnx(), dims, RSlice::from_slice(bytes), &mut out);
        if answer == crate::abi::status::OK {
            return Value(out);
        }
        self.fail("the host refused a constant");
        Value::INVALID
    }

    /// A 0-d constant of `dtype`, or the symbolic number cast to it (of shape `[1]`, unless the
    /// first result of the call is 0-d).
    pub fn number(&mut self, number: &Scalar, dtype: DType) -> Value {
        if let Scalar::Sym(value) = number {
            let value = self.cast(*value, dtype);
            return if self.result(0).is_ok_and(|r| r.rank() == 0) {
                self.squeeze(value, &[0])
            } else {
                value
            };
        }
        self.filled(number, dtype, &[])
    }

    /// A constant of `dtype` and `shape` with every element equal to `number`; meant for small ones.
    pub fn filled(&mut self, number: &Scalar, dtype: DType, shape: &[u64]) -> Value {
        let Some(bytes) = element(number, dtype) else {
            self.fail(format!("{number:?} is not a constant of type {dtype}"));
            return Value::INVALID;
        };
        let count = shape.iter().product::<u64>() as usize;
        self.constant(dtype, shape, &bytes.repeat(count))
    }

    /// A vector of numbers, all cast to `dtype`.
    pub fn numbers(&mut self, numbers: &[f64], dtype: DType) -> Value {
        self.numbers_shaped(numbers, &[numbers.len() as u64], dtype)
    }

    /// Numbers in row-major order, all cast to `dtype`.
    pub fn numbers_shaped(&mut self, numbers: &[f64], shape: &[u64], dtype: DType) -> Value {
        let bytes: Option<Vec<Vec<u8>>> =
            numbers.iter().map(|n| element(&Scalar::Float(*n), dtype)).collect();
        match bytes {
            Some(bytes) => self.constant(dtype, shape, &bytes.concat()),
            None => {
                self.fail(format!("there are no constants of type {dtype}"));
                Value::INVALID
            }
        }
    }

    /// An i64 vector.
    pub fn ints(&mut self, ints: &[i64]) -> Value {
        self.ints_shaped(ints, &[ints.len() as u64])
    }

    /// An i64 tensor, row-major.
    pub fn ints_shaped(&mut self, ints: &[i64], shape: &[u64]) -> Value {
        let bytes: Vec<u8> = ints.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.constant(DType::I64, shape, &bytes)
    }

    /// A 0-d i64.
    pub fn int(&mut self, n: i64) -> Value {
        self.filled(&Scalar::Int(n), DType::I64, &[])
    }

    /// A 0-d float of `dtype`.
    pub fn float(&mut self, x: f64, dtype: DType) -> Value {
        self.filled(&Scalar::Float(x), dtype, &[])
    }

    /// A 0-d truth value.
    pub fn bool(&mut self, b: bool) -> Value {
        self.filled(&Scalar::Bool(b), DType::Bool, &[])
    }
}
