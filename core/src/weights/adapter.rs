//! Adapters of peft (LoRA): pairs of narrow matrices whose product is added to the weight of a linear module.

use super::{SourcedTensor, WeightSet};
use crate::tensor::{Binary, DType, LazyTensor, Transform, Unary};

/// The prefix of modules in an adapter's names.
const PREFIX: &str = "base_model.model.";

impl WeightSet {
    /// Returns the matrices of `module` in this adapter as f32, `[in, rank]` and `[rank, out]`; the second one is scaled.
    /// `None` unless both are there and fit.
    pub fn low_rank(&self, module: &str, scale: f64) -> Option<[LazyTensor; 2]> {
        let matrix = |part: &str| {
            let stored = self.get(&format!("{PREFIX}{module}.lora_{part}.weight"))?;
            as_f32(stored)?.permute(&[1, 0])
        };
        let scale = LazyTensor::inline(DType::F32, Vec::new(), (scale as f32).to_le_bytes().to_vec());
        let (a, b) = (matrix("A")?, matrix("B")?.binary(Binary::Mul, &scale)?);
        (a.shape.get(1) == b.shape.first()).then_some([a, b])
    }

    /// Adds the product of `pair`, as [`low_rank`](Self::low_rank) returns it, to the weight called `name`, in f32. The
    /// weight is `[in, out]` if `transposed`, otherwise `[out, in]`. `None` unless it is there and fits.
    #[must_use]
    pub fn add_low_rank(&mut self, name: &str, [a, b]: &[LazyTensor; 2], transposed: bool) -> Option<()> {
        let SourcedTensor { tensor, .. } = self.given.get_mut(name)?;
        let product = if transposed { a.product(b)? } else { a.product(b)?.permute(&[1, 0])? };
        if product.shape != tensor.shape {
            return None;
        }
        *tensor = as_f32(tensor)?.binary(Binary::Add, &product)?;
        Some(())
    }

    /// Scales the weights of each output of the matrix called `name` such that their lengths are `lengths`, in f32.
    /// The matrix is `[in, out]` if `transposed`, otherwise `[out, in]`. `None` unless it is there, fits and can be
    /// read.
    #[must_use]
    pub fn set_lengths(&mut self, name: &str, lengths: &LazyTensor, transposed: bool) -> Option<()> {
        let SourcedTensor { tensor, .. } = self.given.get_mut(name)?;
        let swap = |tensor: &LazyTensor| {
            if transposed { tensor.permute(&[1, 0]) } else { Some(tensor.clone()) }
        };
        let rows = swap(&as_f32(tensor)?)?;
        let &[made, taken] = rows.shape.as_slice() else { return None };
        let ones = 1f32.to_le_bytes().repeat(usize::try_from(taken).ok()?);
        let ones = LazyTensor::inline(DType::F32, vec![taken, 1], ones);
        let sums = rows.binary(Binary::Mul, &rows)?.product(&ones)?;
        let now = sums.then(Transform::Unary(Unary::Sqrt))?;
        let scales = as_f32(lengths)?.reshape(&[made, 1])?.binary(Binary::Div, &now)?;
        // A number for each output is small, and a tensor in memory has views of all kinds.
        let scales = LazyTensor::inline(DType::F32, vec![made, 1], scales.read()?.into_owned());
        *tensor = swap(&rows.binary(Binary::Mul, &scales)?)?;
        Some(())
    }
}

fn as_f32(tensor: &LazyTensor) -> Option<LazyTensor> {
    if tensor.dtype == DType::F32 {
        return Some(tensor.clone());
    }
    tensor.then(Transform::Cast(DType::F32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(tensors: &[(&str, [u64; 2], &[f32])]) -> WeightSet {
        let mut set = WeightSet::default();
        for (name, shape, values) in tensors {
            let bytes: Vec<u8> = values.iter().copied().flat_map(f32::to_le_bytes).collect();
            set.insert_bytes(name, DType::F32, shape.to_vec(), bytes).unwrap();
        }
        set
    }

    fn values(tensor: &LazyTensor) -> Vec<f32> {
        tensor
            .read()
            .unwrap()
            .chunks_exact(4)
            .map(|one| f32::from_le_bytes(one.try_into().unwrap()))
            .collect()
    }

    #[test]
    fn a_scaled_product_is_added_to_weights_of_both_orders() {
        let adapter = set(&[
            ("base_model.model.m.lora_A.weight", [1, 3], &[1., 2., 3.]),
            ("base_model.model.m.lora_B.weight", [2, 1], &[10., 20.]),
        ]);
        let pair = adapter.low_rank("m", 0.5).unwrap();
        assert_eq!(
            (pair[0].shape.as_slice(), pair[1].shape.as_slice()),
            ([3, 1].as_slice(), [1, 2].as_slice())
        );
        assert_eq!(values(&pair[1]), [5., 10.]);
        let mut weights = set(&[("w", [2, 3], &[0., 0., 0., 1., 1., 1.]), ("t", [3, 2], &[0.; 6])]);
        weights.add_low_rank("w", &pair, false).unwrap();
        weights.add_low_rank("t", &pair, true).unwrap();
        assert_eq!(values(weights.get("w").unwrap()), [5., 10., 15., 11., 21., 31.]);
        assert_eq!(values(weights.get("t").unwrap()), [5., 10., 10., 20., 15., 30.]);
        // A view of it, as models store it.
        let view = weights.get("w").unwrap().permute(&[1, 0]).unwrap();
        assert_eq!(values(&view), [5., 11., 10., 21., 15., 31.]);
    }

    #[test]
    fn outputs_get_lengths_in_weights_of_both_orders() {
        let adapter = set(&[("lengths", [2, 1], &[10., 26.])]);
        let lengths = adapter.get("lengths").unwrap();
        let mut weights = set(&[("w", [2, 2], &[3., 4., 5., 12.]), ("t", [2, 2], &[3., 5., 4., 12.])]);
        weights.set_lengths("w", lengths, false).unwrap();
        weights.set_lengths("t", lengths, true).unwrap();
        assert_eq!(values(weights.get("w").unwrap()), [6., 8., 10., 24.]);
        assert_eq!(values(weights.get("t").unwrap()), [6., 10., 8., 24.]);
        // A view of it, as models store it.
        let view = weights.get("w").unwrap().permute(&[1, 0]).unwrap();
        assert_eq!(values(&view), [6., 10., 8., 24.]);
        assert!(weights.set_lengths("other", lengths, false).is_none());
        let mut weights = set(&[("w", [3, 2], &[1.; 6])]);
        assert!(weights.set_lengths("w", lengths, false).is_none());
    }

    #[test]
    fn weights_that_do_not_fit_are_none() {
        let adapter = set(&[
            ("base_model.model.m.lora_A.weight", [1, 3], &[1., 2., 3.]),
            ("base_model.model.m.lora_B.weight", [2, 1], &[10., 20.]),
            ("base_model.model.n.lora_A.weight", [1, 3], &[1., 2., 3.]),
            ("base_model.model.n.lora_B.weight", [1, 2], &[1., 2.]),
        ]);
        assert!(adapter.low_rank("n", 1.0).is_none());
        assert!(adapter.low_rank("other", 1.0).is_none());
        let pair = adapter.low_rank("m", 1.0).unwrap();
        let mut weights = set(&[("w", [3, 2], &[0.; 6])]);
        assert!(weights.add_low_rank("w", &pair, false).is_none());
        assert!(weights.add_low_rank("other", &pair, false).is_none());
        assert_eq!(values(weights.get("w").unwrap()), [0.; 6]);
    }
}
