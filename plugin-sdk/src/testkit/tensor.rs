//! Tensors with their elements.

use half::{bf16, f16};

use crate::{DType, Kind};

/// The elements, in a type wide enough; rounded to the element type of the tensor.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    Floats(Vec<f64>),
    /// Integers and truth values.
    Ints(Vec<i64>),
}

/// A tensor of floats, integers or truth values, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    pub(super) data: Data,
}

impl Tensor {
    /// An f32 tensor.
    ///
    /// # Panics
    /// When the number of elements is not that of the shape; so do the others.
    #[track_caller]
    pub fn f32(shape: impl Into<Vec<usize>>, elements: impl IntoIterator<Item = f32>) -> Self {
        Self::floats(DType::F32, shape, elements.into_iter().map(f64::from))
    }

    /// An f64 tensor.
    #[track_caller]
    pub fn f64(shape: impl Into<Vec<usize>>, elements: impl IntoIterator<Item = f64>) -> Self {
        Self::floats(DType::F64, shape, elements)
    }

    /// An i64 tensor.
    #[track_caller]
    pub fn i64(shape: impl Into<Vec<usize>>, elements: impl IntoIterator<Item = i64>) -> Self {
        Self::ints(DType::I64, shape, elements)
    }

    /// A tensor of truth values.
    #[track_caller]
    pub fn bool(shape: impl Into<Vec<usize>>, elements: impl IntoIterator<Item = bool>) -> Self {
        Self::ints(DType::Bool, shape, elements.into_iter().map(i64::from))
    }

    /// A tensor of the floating-point type `dtype`, which the elements are rounded to.
    #[track_caller]
    pub fn floats(
        dtype: DType,
        shape: impl Into<Vec<usize>>,
        elements: impl IntoIterator<Item = f64>,
    ) -> Self {
        assert!(dtype.is_float(), "{dtype} is not a floating-point type");
        Self::new(dtype, shape.into(), Data::Floats(elements.into_iter().collect()))
    }

    /// A tensor of the integer type `dtype`, which the elements wrap around to.
    #[track_caller]
    pub fn ints(dtype: DType, shape: impl Into<Vec<usize>>, elements: impl IntoIterator<Item = i64>) -> Self {
        assert!(matches!(dtype.kind(), Kind::Int | Kind::Bool), "{dtype} is not an integer type");
        Self::new(dtype, shape.into(), Data::Ints(elements.into_iter().collect()))
    }

    #[track_caller]
    fn new(dtype: DType, shape: Vec<usize>, data: Data) -> Self {
        let tensor = Self { dtype, shape, data }.rounded();
        let (count, expected) = (tensor.len(), tensor.shape.iter().product::<usize>());
        assert_eq!(count, expected, "{count} elements for the shape {:?}", tensor.shape);
        tensor
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Floats(data) => data.len(),
            Data::Ints(data) => data.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as floats.
    pub fn to_f64(&self) -> Vec<f64> {
        match &self.data {
            Data::Floats(data) => data.clone(),
            Data::Ints(data) => data.iter().map(|n| *n as f64).collect(),
        }
    }

    /// The elements as integers; floats are cut off.
    pub fn to_i64(&self) -> Vec<i64> {
        match &self.data {
            Data::Floats(data) => data.iter().map(|x| *x as i64).collect(),
            Data::Ints(data) => data.clone(),
        }
    }

    /// Rounds the elements to the element type.
    pub(super) fn rounded(mut self) -> Self {
        let dtype = self.dtype;
        match &mut self.data {
            Data::Floats(data) => match dtype {
                DType::F32 => data.iter_mut().for_each(|x| *x = f64::from(*x as f32)),
                DType::F16 => data.iter_mut().for_each(|x| *x = f16::from_f64(*x).to_f64()),
                DType::BF16 => data.iter_mut().for_each(|x| *x = bf16::from_f64(*x).to_f64()),
                _ => {}
            },
            Data::Ints(data) => match dtype {
                DType::Bool => data.iter_mut().for_each(|n| *n = i64::from(*n != 0)),
                DType::U8 => data.iter_mut().for_each(|n| *n = i64::from(*n as u8)),
                DType::I8 => data.iter_mut().for_each(|n| *n = i64::from(*n as i8)),
                DType::U16 => data.iter_mut().for_each(|n| *n = i64::from(*n as u16)),
                DType::I16 => data.iter_mut().for_each(|n| *n = i64::from(*n as i16)),
                DType::U32 => data.iter_mut().for_each(|n| *n = i64::from(*n as u32)),
                DType::I32 => data.iter_mut().for_each(|n| *n = i64::from(*n as i32)),
                _ => {}
            },
        }
        self
    }

    /// The tensor of `bytes`, little-endian and row-major; `None` for types that are not held.
    pub(super) fn from_bytes(dtype: DType, dims: &[u64], bytes: &[u8]) -> Option<Self> {
        fn each<const N: usize, T>(bytes: &[u8], read: fn([u8; N]) -> T) -> Vec<T> {
            bytes.as_chunks::<N>().0.iter().map(|chunk| read(*chunk)).collect()
        }
        let data = match dtype {
            DType::F32 => Data::Floats(each(bytes, |b| f64::from(f32::from_le_bytes(b)))),
            DType::F64 => Data::Floats(each(bytes, f64::from_le_bytes)),
            DType::F16 => Data::Floats(each(bytes, |b| f16::from_le_bytes(b).to_f64())),
            DType::BF16 => Data::Floats(each(bytes, |b| bf16::from_le_bytes(b).to_f64())),
            DType::Bool | DType::U8 => Data::Ints(each(bytes, |[b]: [u8; 1]| i64::from(b))),
            DType::I8 => Data::Ints(each(bytes, |b| i64::from(i8::from_le_bytes(b)))),
            DType::U16 => Data::Ints(each(bytes, |b| i64::from(u16::from_le_bytes(b)))),
            DType::I16 => Data::Ints(each(bytes, |b| i64::from(i16::from_le_bytes(b)))),
            DType::U32 => Data::Ints(each(bytes, |b| i64::from(u32::from_le_bytes(b)))),
            DType::I32 => Data::Ints(each(bytes, |b| i64::from(i32::from_le_bytes(b)))),
            DType::I64 => Data::Ints(each(bytes, i64::from_le_bytes)),
            _ => return None,
        };
        let shape: Vec<usize> = dims.iter().map(|d| *d as usize).collect();
        let tensor = Self { dtype, shape, data };
        (tensor.len() == tensor.shape.iter().product::<usize>()).then_some(tensor)
    }

    /// The elements, little-endian and row-major; `None` for types that have no such bytes here.
    pub(super) fn to_bytes(&self) -> Option<Vec<u8>> {
        let floats = self.to_f64();
        let ints = self.to_i64();
        Some(match self.dtype {
            DType::F32 => floats.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect(),
            DType::F64 => floats.iter().flat_map(|x| x.to_le_bytes()).collect(),
            DType::F16 => floats.iter().flat_map(|x| f16::from_f64(*x).to_le_bytes()).collect(),
            DType::BF16 => floats.iter().flat_map(|x| bf16::from_f64(*x).to_le_bytes()).collect(),
            DType::Bool | DType::U8 | DType::I8 => ints.iter().map(|n| *n as u8).collect(),
            DType::U16 | DType::I16 => ints.iter().flat_map(|n| (*n as u16).to_le_bytes()).collect(),
            DType::U32 | DType::I32 => ints.iter().flat_map(|n| (*n as u32).to_le_bytes()).collect(),
            DType::I64 => ints.iter().flat_map(|n| n.to_le_bytes()).collect(),
            _ => return None,
        })
    }
}
