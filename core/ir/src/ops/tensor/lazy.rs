//! From the tensors of models, and back.

use bytes::Bytes;

use super::{Data, Tensor};
use crate::ops::error::{invalid, unsupported};
use crate::ops::{Error, Res};
use crate::tensor::{DType, LazyTensor};

impl Tensor {
    /// The elements of a tensor of a model, read into memory.
    ///
    /// # Errors
    /// When its bytes cannot be had.
    pub fn read(data: &LazyTensor) -> Res<Self> {
        let shape: Option<Vec<usize>> = data.shape.iter().map(|d| usize::try_from(*d).ok()).collect();
        let Some(shape) = shape else { return invalid!("the shape {:?} is too large", data.shape) };
        if let Some(unbound) = data.unbound() {
            return unsupported!("the weight `{}` has no bytes yet", unbound.name);
        }
        let bytes = data.read().ok_or_else(|| Error::invalid("the bytes of a constant cannot be read"))?;
        Self::packed(data.dtype, shape, Bytes::from(bytes.into_owned()))
    }

    /// A tensor of little-endian bytes as ONNX stores them: elements of fewer than eight bits share bytes, the first
    /// one in the lowest bits.
    ///
    /// # Errors
    /// When there are more or fewer bytes than the shape takes, and for text.
    pub fn packed(dtype: DType, shape: Vec<usize>, bytes: Bytes) -> Res<Self> {
        let count = shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d as u64));
        let count = if shape.contains(&0) { Some(0) } else { count };
        let Some(count) = count.filter(|n| dtype.byte_len(*n) == Some(bytes.len() as u64)) else {
            return invalid!("{} bytes do not make {dtype}{shape:?}", bytes.len());
        };
        let per_byte = 8 / (dtype.bits() as usize).clamp(1, 8);
        if per_byte == 1 {
            return Ok(Self { dtype, shape, data: Data::Bytes(bytes) });
        }
        let (bits, mask) = (dtype.bits() as usize, (1u8 << dtype.bits()) - 1);
        let code = |i: usize| bytes.get(i / per_byte).map_or(0, |b| b >> (bits * (i % per_byte)) & mask);
        let codes: Vec<u8> = (0..count as usize).map(code).collect();
        Ok(Self { dtype, shape, data: Data::Bytes(codes.into()) })
    }

    /// The bytes as ONNX stores them; see [`Tensor::packed`].
    ///
    /// # Errors
    /// For text.
    pub fn to_packed(&self) -> Res<Bytes> {
        let Data::Bytes(bytes) = &self.data else { return unsupported!("text has no dense bytes") };
        let (bits, per_byte) = (self.dtype.bits() as usize, 8 / (self.dtype.bits() as usize).clamp(1, 8));
        if per_byte == 1 {
            return Ok(bytes.clone());
        }
        let join = |codes: &[u8]| codes.iter().rev().fold(0u8, |byte, code| byte << bits | code);
        Ok(bytes.chunks(per_byte).map(join).collect::<Vec<u8>>().into())
    }

    /// The same tensor for a model.
    ///
    /// # Errors
    /// For text.
    pub fn to_lazy(&self) -> Res<LazyTensor> {
        let shape = self.shape.iter().map(|d| *d as u64).collect();
        Ok(LazyTensor::inline(self.dtype, shape, self.to_packed()?))
    }
}
