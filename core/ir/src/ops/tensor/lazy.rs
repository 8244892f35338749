//! From the tensors of models, and back.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

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
        (Cow::Borrowed(bytes), Source::Lent(memory)) => Bytes::from_owner(memory.clone()).slice_ref(bytes),
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

    /// A tensor of text; invalid UTF-8 is replaced.
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
                            "the index {index} of a sparse tensor is out of range for the size {extent}"
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
        let count = super::elements(&shape).map(|n| n as u64);
        let Some(count) = count.filter(|n| dtype.byte_len(*n) == Some(bytes.len() as u64)) else {
            return invalid!("{} bytes do not make {dtype}{shape:?}", bytes.len());
        };
        let bits = dtype.bits() as usize;
        if bits >= 8 {
            return Ok(Self { dtype, shape, data: Data::Bytes(bytes) });
        }
        // Elements of six bits reach across bytes.
        let pair = |at: usize| [at, at + 1].map(|at| bytes.get(at).copied().unwrap_or(0));
        let code =
            |i: usize| (u16::from_le_bytes(pair(i * bits / 8)) >> (i * bits % 8)) as u8 & ((1 << bits) - 1);
        let codes: Vec<u8> = (0..count as usize).map(code).collect();
        Ok(Self { dtype, shape, data: Data::Bytes(codes.into()) })
    }

    /// The bytes as ONNX stores them; see [`Tensor::packed`].
    ///
    /// # Errors
    /// For text.
    pub fn to_packed(&self) -> Res<Bytes> {
        let Data::Bytes(bytes) = &self.data else { return unsupported!("text has no dense bytes") };
        let bits = self.dtype.bits() as usize;
        if bits >= 8 {
            return Ok(bytes.clone());
        }
        // Eight elements fill whole bytes, as many as an element has bits.
        let join = |codes: &[u8]| codes.iter().rev().fold(0u64, |all, code| all << bits | u64::from(*code));
        let len = |codes: &[u8]| (codes.len() * bits).div_ceil(8);
        let packed = bytes.chunks(8).flat_map(|codes| join(codes).to_le_bytes().into_iter().take(len(codes)));
        Ok(packed.collect::<Vec<u8>>().into())
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::Tensor;
    use crate::ops::tensor::Elements;
    use crate::tensor::DType;

    #[test]
    fn elements_share_bytes_from_the_lowest_bits_on() {
        // The codes 1, 2, 3, 4 and 63, packed by `onnx.numpy_helper`.
        let six = [0x81, 0x30, 0x10, 0x3f];
        let of = |dtype, bytes: &[u8]| {
            let tensor = Tensor::packed(dtype, vec![5], Bytes::copy_from_slice(bytes)).unwrap();
            assert_eq!(tensor.to_packed().unwrap(), bytes);
            match tensor.elements() {
                Elements::Float(items) => items,
                Elements::Int(items) => items.into_iter().map(|n| n as f64).collect(),
                _ => panic!("no numbers"),
            }
        };
        assert_eq!(of(DType::F6E2M3, &six), [0.125, 0.25, 0.375, 0.5, -7.5]);
        assert_eq!(of(DType::F6E3M2, &six), [0.0625, 0.125, 0.1875, 0.25, -28.0]);
        assert_eq!(of(DType::I4, &[0x21, 0x43, 0x0f]), [1.0, 2.0, 3.0, 4.0, -1.0]);
        assert_eq!(of(DType::U2, &[0b1110_0100, 0b10]), [0.0, 1.0, 2.0, 3.0, 2.0]);
    }
}
