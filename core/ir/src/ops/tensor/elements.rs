//! Conversion between the bytes of a tensor and the numbers of evaluators.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use bytes::Bytes;

use super::{Data, Tensor, float};
use crate::ops::error::{invalid, unsupported};
use crate::ops::{Error, Res};
use crate::tensor::{DType, Kind};

/// The elements of a tensor in the widest type of their kind, which holds each exactly.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// Truth values.
    Bool(Vec<bool>),
    /// Integers. Sums and products are taken modulo the width of the type when they are stored.
    Int(Vec<i128>),
    /// Floats, rounded once when they are stored.
    Float(Vec<f64>),
    /// Complex numbers: real and imaginary part.
    Complex(Vec<[f64; 2]>),
    /// Text.
    Text(Vec<String>),
}

/// Maps each element of width `N` of `bytes`.
fn each<const N: usize, T>(bytes: &[u8], map: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|c| map(*c)).collect()
}

/// The bytes of elements of width `N`.
fn bytes<const N: usize, T: Copy>(items: &[T], map: impl Fn(T) -> [u8; N]) -> Data {
    let mut out = Vec::with_capacity(items.len() * N);
    for item in items {
        out.extend_from_slice(&map(*item));
    }
    Data::Bytes(out.into())
}

impl Tensor {
    fn raw(&self) -> &[u8] {
        match &self.data {
            Data::Bytes(bytes) => bytes,
            Data::Text(_) => &[],
        }
    }

    /// The elements in the widest type of their kind.
    pub fn elements(&self) -> Elements {
        match (self.dtype.kind(), &self.data) {
            (_, Data::Text(texts)) => Elements::Text(texts.to_vec()),
            (Kind::Bool, _) => Elements::Bool(self.raw().iter().map(|b| *b != 0).collect()),
            (Kind::Int, _) => Elements::Int(self.read_ints()),
            (Kind::Complex, _) => Elements::Complex(self.read_complex()),
            (Kind::Float | Kind::Text, _) => Elements::Float(self.read_floats()),
        }
    }

    /// The elements of a tensor of floats, integers or truth values.
    ///
    /// # Errors
    /// For complex numbers and text.
    pub fn floats(&self) -> Res<Vec<f64>> {
        Ok(match self.elements() {
            Elements::Float(items) => items,
            Elements::Int(items) => items.into_iter().map(|n| n as f64).collect(),
            Elements::Bool(items) => items.into_iter().map(|b| f64::from(u8::from(b))).collect(),
            _ => return invalid!("{} are not numbers of one part", self.dtype),
        })
    }

    /// The elements of a tensor of integers or truth values.
    ///
    /// # Errors
    /// For every other type.
    pub fn ints(&self) -> Res<Vec<i128>> {
        match self.elements() {
            Elements::Int(items) => Ok(items),
            Elements::Bool(items) => Ok(items.into_iter().map(i128::from).collect()),
            _ => invalid!("{} are not integers", self.dtype),
        }
    }

    /// The elements of a tensor of integers as `i64`: for axes, sizes and indices.
    ///
    /// # Errors
    /// For every other type.
    pub fn longs(&self) -> Res<Vec<i64>> {
        let clamp = |n: i128| n.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Ok(self.ints()?.into_iter().map(clamp).collect())
    }

    /// The elements of a tensor of truth values.
    ///
    /// # Errors
    /// For every other type.
    pub fn bools(&self) -> Res<Vec<bool>> {
        match self.elements() {
            Elements::Bool(items) => Ok(items),
            _ => invalid!("{} are not truth values", self.dtype),
        }
    }

    /// The elements of a tensor of complex numbers, floats or integers.
    ///
    /// # Errors
    /// For text.
    pub fn complexes(&self) -> Res<Vec<[f64; 2]>> {
        match self.elements() {
            Elements::Complex(items) => Ok(items),
            _ => Ok(self.floats()?.into_iter().map(|re| [re, 0.0]).collect()),
        }
    }

    /// The elements of a tensor of text.
    ///
    /// # Errors
    /// For every other type.
    pub fn texts(&self) -> Res<&[String]> {
        match &self.data {
            Data::Text(texts) => Ok(texts),
            Data::Bytes(_) => invalid!("{} are not text", self.dtype),
        }
    }

    fn read_ints(&self) -> Vec<i128> {
        let raw = self.raw();
        match self.dtype {
            DType::I8 => each(raw, |c| i8::from_le_bytes(c).into()),
            DType::U16 => each(raw, |c| u16::from_le_bytes(c).into()),
            DType::I16 => each(raw, |c| i16::from_le_bytes(c).into()),
            DType::U32 => each(raw, |c| u32::from_le_bytes(c).into()),
            DType::I32 => each(raw, |c| i32::from_le_bytes(c).into()),
            DType::U64 => each(raw, |c| u64::from_le_bytes(c).into()),
            DType::I64 => each(raw, |c| i64::from_le_bytes(c).into()),
            DType::I4 => each(raw, |[c]| ((c << 4) as i8 >> 4).into()),
            DType::I2 => each(raw, |[c]| ((c << 6) as i8 >> 6).into()),
            _ => each(raw, |[c]| c.into()),
        }
    }

    fn read_floats(&self) -> Vec<f64> {
        let (raw, dtype) = (self.raw(), self.dtype);
        match Self::width(dtype) {
            8 => each(raw, f64::from_le_bytes),
            4 => each(raw, |c| f32::from_le_bytes(c).into()),
            2 => each(raw, |c| float::decode(dtype, u16::from_le_bytes(c)).unwrap_or(f64::NAN)),
            _ => each(raw, |[c]| float::decode(dtype, c.into()).unwrap_or(f64::NAN)),
        }
    }

    fn read_complex(&self) -> Vec<[f64; 2]> {
        let parts: Vec<f64> = match self.dtype {
            DType::C64 => each(self.raw(), |c| f32::from_le_bytes(c).into()),
            _ => each(self.raw(), f64::from_le_bytes),
        };
        parts.as_chunks::<2>().0.to_vec()
    }

    /// A tensor of `elements`, rounded or wrapped to `dtype`; floats of 8 bits saturate.
    ///
    /// # Errors
    /// When there are more or fewer than `shape` says, or they are of another kind than `dtype`.
    pub fn new(dtype: DType, shape: Vec<usize>, elements: &Elements) -> Res<Self> {
        let count = match elements {
            Elements::Bool(items) => items.len(),
            Elements::Int(items) => items.len(),
            Elements::Float(items) => items.len(),
            Elements::Complex(items) => items.len(),
            Elements::Text(items) => items.len(),
        };
        if super::elements(&shape) != Some(count) {
            return invalid!("{count} elements do not make the shape {shape:?}");
        }
        let data = match (elements, dtype.kind()) {
            (Elements::Bool(items), Kind::Bool) => bytes(items, |b| [u8::from(b)]),
            (Elements::Int(items), Kind::Int) => store_ints(dtype, items),
            (Elements::Float(items), Kind::Float) => store_floats(dtype, items, true),
            (Elements::Complex(items), Kind::Complex) => store_complex(dtype, items),
            (Elements::Text(items), Kind::Text) => Data::Text(items.as_slice().into()),
            _ => return unsupported!("the elements do not match the result type {dtype}"),
        };
        Ok(Self { dtype, shape, data })
    }

    /// A tensor of floats, rounded to `dtype`.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn of_floats(dtype: DType, shape: Vec<usize>, items: Vec<f64>) -> Res<Self> {
        Self::new(dtype, shape, &Elements::Float(items))
    }

    /// A tensor of integers, wrapped to `dtype`.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn of_ints(dtype: DType, shape: Vec<usize>, items: Vec<i128>) -> Res<Self> {
        Self::new(dtype, shape, &Elements::Int(items))
    }

    /// A tensor of 64-bit integers.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn of_longs(shape: Vec<usize>, items: impl IntoIterator<Item = i64>) -> Res<Self> {
        Self::of_ints(DType::I64, shape, items.into_iter().map(i128::from).collect())
    }

    /// A tensor of truth values.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn of_bools(shape: Vec<usize>, items: Vec<bool>) -> Res<Self> {
        Self::new(DType::Bool, shape, &Elements::Bool(items))
    }

    /// A tensor of complex numbers.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn of_complexes(dtype: DType, shape: Vec<usize>, items: Vec<[f64; 2]>) -> Res<Self> {
        Self::new(dtype, shape, &Elements::Complex(items))
    }

    /// A tensor of text.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn of_texts(shape: Vec<usize>, items: Vec<String>) -> Res<Self> {
        Self::new(DType::String, shape, &Elements::Text(items))
    }

    /// A tensor of numbers that were computed as floats, in any numeric type: integers are cut off towards zero
    /// and wrapped, booleans are true unless zero.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn of_numbers(dtype: DType, shape: Vec<usize>, items: Vec<f64>) -> Res<Self> {
        let elements = match dtype.kind() {
            Kind::Bool => Elements::Bool(items.into_iter().map(|x| x != 0.0).collect()),
            Kind::Int => Elements::Int(items.into_iter().map(|x| x as i128).collect()),
            Kind::Complex => Elements::Complex(items.into_iter().map(|x| [x, 0.0]).collect()),
            Kind::Float | Kind::Text => Elements::Float(items),
        };
        Self::new(dtype, shape, &elements)
    }

    /// A tensor of floats, rounded to `dtype`; whether those of 8 bits saturate is said.
    pub(crate) fn rounded(dtype: DType, shape: Vec<usize>, items: &[f64], saturate: bool) -> Res<Self> {
        if !dtype.is_float() || super::elements(&shape) != Some(items.len()) {
            return Err(Error::invalid(format!("{} floats do not make {dtype}{shape:?}", items.len())));
        }
        Ok(Self { dtype, shape, data: store_floats(dtype, items, saturate) })
    }

    /// A tensor of codes: one byte per element, whatever the type is.
    pub(crate) fn of_codes(dtype: DType, shape: Vec<usize>, codes: Vec<u8>) -> Res<Self> {
        if Self::width(dtype) != 1 || super::elements(&shape) != Some(codes.len()) {
            return Err(Error::invalid(format!("{} bytes do not make {dtype}{shape:?}", codes.len())));
        }
        Ok(Self { dtype, shape, data: Data::Bytes(Bytes::from(codes)) })
    }
}

fn store_ints(dtype: DType, items: &[i128]) -> Data {
    match dtype {
        DType::U4 | DType::I4 => bytes(items, |n| [n as u8 & 0xf]),
        DType::U2 | DType::I2 => bytes(items, |n| [n as u8 & 0x3]),
        _ => match Tensor::width(dtype) {
            8 => bytes(items, |n| (n as u64).to_le_bytes()),
            4 => bytes(items, |n| (n as u32).to_le_bytes()),
            2 => bytes(items, |n| (n as u16).to_le_bytes()),
            _ => bytes(items, |n| [n as u8]),
        },
    }
}

fn store_floats(dtype: DType, items: &[f64], saturate: bool) -> Data {
    let code = |x: f64| float::encode(dtype, x, saturate).unwrap_or_default();
    match Tensor::width(dtype) {
        8 => bytes(items, f64::to_le_bytes),
        4 => bytes(items, |x| (x as f32).to_le_bytes()),
        2 => bytes(items, |x| code(x).to_le_bytes()),
        _ => bytes(items, |x| [code(x) as u8]),
    }
}

fn store_complex(dtype: DType, items: &[[f64; 2]]) -> Data {
    let parts = items.as_flattened();
    match dtype {
        DType::C64 => bytes(parts, |x| (x as f32).to_le_bytes()),
        _ => bytes(parts, f64::to_le_bytes),
    }
}
