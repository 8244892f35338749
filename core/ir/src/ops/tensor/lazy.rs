//! From the tensors of models, and back.

use std::borrow::Cow;

use bytes::Bytes;

use super::{Data, Tensor};
use crate::ir::{Literal, SparseTensor, TextTensor};
use crate::ops::error::{invalid, unsupported};
use crate::ops::{Budget, Error, Res};
use crate::tensor::{DType, LazyTensor, MappedFile, Source};

/// A mapping that lives as long as the tensors over it.
struct Mapping(MappedFile);

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

/// The dense bytes of a tensor, not copied where its source has them so.
fn shared(data: &LazyTensor) -> Option<Bytes> {
    let read = data.read()?;
    Some(match (read, &data.source) {
        (Cow::Owned(bytes), _) => bytes.into(),
        (Cow::Borrowed([]), _) => Bytes::new(),
        (Cow::Borrowed(bytes), Source::Mapped { file, .. }) => {
            Bytes::from_owner(Mapping(file.clone())).slice_ref(bytes)
        }
        (Cow::Borrowed(bytes), Source::Inline(all)) => all.slice_ref(bytes),
        (Cow::Borrowed(bytes), _) => Bytes::copy_from_slice(bytes),
    })
}

impl Tensor {
    /// The elements of a tensor of a model: those of a mapped file where they lie there as they are.
    ///
    /// # Errors
    /// When its bytes cannot be had.
    pub fn read(data: &LazyTensor) -> Res<Self> {
        let shape: Option<Vec<usize>> = data.shape.iter().map(|d| usize::try_from(*d).ok()).collect();
        let Some(shape) = shape else { return invalid!("the shape {:?} is too large", data.shape) };
        if let Some(unbound) = data.unbound() {
            return unsupported!("the weight `{}` has no bytes yet", unbound.name);
        }
        let bytes = shared(data).ok_or_else(|| Error::invalid("the bytes of a constant cannot be read"))?;
        Self::packed(data.dtype, shape, bytes)
    }

    /// The elements of a constant in another form than dense numbers.
    ///
    /// # Errors
    /// When its bytes cannot be had, it does not fit into the budget, or its indices are out of range.
    pub fn literal(data: &Literal, budget: &Budget) -> Res<Self> {
        match data {
            Literal::Text(text) => Self::text(text),
            Literal::Sparse(sparse) => Self::sparse(sparse, budget),
        }
    }

    /// A tensor of text; what is not UTF-8 is replaced.
    ///
    /// # Errors
    /// When there are more or fewer texts than the shape says.
    pub fn text(text: &TextTensor) -> Res<Self> {
        let items = text.items.iter().map(|t| String::from_utf8_lossy(t).into_owned());
        Self::of_texts(text.shape.iter().map(|d| *d as usize).collect(), items.collect())
    }

    /// The dense form of a sparse tensor.
    ///
    /// # Errors
    /// When its bytes cannot be had, it does not fit into the budget, or its indices are out of range.
    pub fn sparse(sparse: &SparseTensor, budget: &Budget) -> Res<Self> {
        let shape: Vec<usize> = sparse.shape.iter().map(|d| *d as usize).collect();
        let count = budget.count(&shape)?;
        let (values, indices) = (Self::read(&sparse.values)?, Self::read(&sparse.indices)?);
        let rank = if indices.rank() == 2 { indices.dim(1) } else { 1 };
        let extents = if indices.rank() == 2 { shape.clone() } else { vec![count] };
        let mut places: Vec<(usize, usize)> = vec![(1, 0); count];
        for (which, index) in indices.longs()?.chunks(rank.max(1)).enumerate() {
            let mut at = 0usize;
            for (index, extent) in index.iter().zip(&extents) {
                match usize::try_from(*index).ok().filter(|i| i < extent) {
                    Some(index) => at = at * extent + index,
                    None => {
                        return invalid!(
                            "the index {index} of a sparse tensor is out of the extent {extent}"
                        );
                    }
                }
            }
            if let Some(place) = places.get_mut(at) {
                *place = (0, which);
            }
        }
        let zero = match values.dtype() {
            DType::String => Self::of_texts(Vec::new(), vec![String::new()])?,
            dtype => Self::of_numbers(dtype, Vec::new(), vec![0.0])?,
        };
        Self::mix(shape, &[&values, &zero], places)
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
