//! Tensors in memory.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

mod elements;
pub(crate) mod float;
mod lazy;
mod pick;

use std::sync::Arc;

use bytes::Bytes;

use super::error::invalid;
use super::{Error, Res};
use crate::tensor::DType;

pub use elements::Elements;
pub use float::{Rounding, decode as decode_float};

/// A tensor in memory: dense, row-major, cheap to clone. The product of any of its sizes fits, also where another
/// size is 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    dtype: DType,
    shape: Vec<usize>,
    data: Data,
}

/// The elements of a tensor, in order.
#[derive(Clone, Debug, PartialEq)]
enum Data {
    /// Little-endian; an element of fewer than eight bits has a byte of its own.
    Bytes(Bytes),
    Text(Arc<[String]>),
}

impl Tensor {
    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Size of every axis, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        elements(&self.shape).unwrap_or(0)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The size of `axis`; 1 where there is no such axis.
    pub fn dim(&self, axis: usize) -> usize {
        self.shape.get(axis).copied().unwrap_or(1)
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> u64 {
        match &self.data {
            Data::Bytes(bytes) => bytes.len() as u64,
            Data::Text(texts) => texts.iter().map(|t| t.len() as u64 + 24).sum(),
        }
    }

    /// The same elements in another shape.
    ///
    /// # Errors
    /// When it holds another number of elements.
    pub fn reshaped(&self, shape: Vec<usize>) -> Res<Self> {
        if elements(&shape) == Some(self.len()) {
            return Ok(Self { dtype: self.dtype, shape, data: self.data.clone() });
        }
        invalid!("{} elements of shape {:?} do not fit the shape {shape:?}", self.len(), self.shape)
    }

    /// The single element, as a tensor without axes.
    ///
    /// # Errors
    /// When there are more or none.
    pub fn scalar(&self) -> Res<Self> {
        self.reshaped(Vec::new())
            .map_err(|_| Error::invalid(format!("shape {:?} is not one element", self.shape)))
    }

    /// `f32[2, 3]`.
    pub fn describe(&self) -> String {
        format!("{}{:?}", self.dtype, self.shape)
    }

    /// Bytes of an element in memory.
    fn width(dtype: DType) -> usize {
        (dtype.bits() as usize).div_ceil(8)
    }
}

/// The number of elements of a tensor of this shape; `None` where the sizes that are not 0 have a product that no
/// stride can hold.
pub(in crate::ops) fn elements(shape: &[usize]) -> Option<usize> {
    let volume = shape.iter().try_fold(1usize, |n, d| n.checked_mul((*d).max(1)))?;
    isize::try_from(volume).ok()?;
    Some(if shape.contains(&0) { 0 } else { volume })
}
