//! Products of matrices, such as the narrow ones of adapters.

use super::super::data::count;
use super::super::strides::View;
use super::super::transform::cast::LANES;
use super::super::{DType, LazyTensor};
use super::{Joined, Operation, empty, is_joinable};

impl LazyTensor {
    /// The product of two matrices in f32, with sums in the order of the inner axis. Each piece of the result reads all
    /// of `other`, so that one should be narrow.
    ///
    /// `None` unless both are matrices in f32 that fit each other, or if the graph of transforms becomes too large.
    pub fn product(&self, other: &Self) -> Option<Self> {
        let ([rows, inner], [same, columns]) = (self.shape.as_slice(), other.shape.as_slice()) else {
            return None;
        };
        if inner != same || [self, other].iter().any(|one| one.dtype != DType::F32 || !is_joinable(one)) {
            return None;
        }
        let shape = vec![*rows, *columns];
        match count(&[*rows, *inner, *columns])? {
            0 if count(&shape)? == 0 => Some(empty(DType::F32, shape)),
            0 => Some(Self::fill(DType::F32, shape, &0f32.to_le_bytes())),
            _ => Joined::from_inputs(Operation::Product, vec![self.clone(), other.clone()], shape),
        }
    }
}

impl Joined {
    pub(super) fn view_of_product(&self, view: View<'_>) -> Option<LazyTensor> {
        let [a, b] = self.inputs.as_slice() else { return None };
        match view {
            View::Permute([0, 1]) => a.product(b),
            View::Permute([1, 0]) => b.permute(&[1, 0])?.product(&a.permute(&[1, 0])?),
            View::Slice { axis: 0, start, end, step } => a.slice(0, start, end, step)?.product(b),
            View::Slice { axis: 1, start, end, step } => a.product(&b.slice(1, start, end, step)?),
            View::Expand(shape) | View::Reshape(shape) if shape == self.shape => a.product(b),
            _ => None,
        }
    }
}

/// Computes elements of the product from `first` on: `a` has the rows that they are in, `b` is the whole matrix.
pub(in crate::tensor) fn product(
    a: &[u8],
    b: &[u8],
    [inner, columns]: [usize; 2],
    first: u64,
    out: &mut [u8],
) {
    let (a, _) = a.as_chunks::<4>();
    let (b, _) = b.as_chunks::<4>();
    let (mut out, _) = out.as_chunks_mut::<4>();
    let mut lanes = [0f32; LANES];
    let (mut row, mut column) = (0, (first % columns as u64) as usize);
    while !out.is_empty() {
        let run = (columns - column).min(LANES).min(out.len());
        let sums = lanes.get_mut(..run).unwrap_or_default();
        sums.fill(0.0);
        for index in 0..inner {
            let factor = a.get(row * inner + index).map_or(0.0, |bytes| f32::from_le_bytes(*bytes));
            let from = index * columns + column;
            for (sum, bytes) in sums.iter_mut().zip(b.get(from..from + run).unwrap_or_default()) {
                *sum += factor * f32::from_le_bytes(*bytes);
            }
        }
        let (made, rest) = std::mem::take(&mut out).split_at_mut(run);
        for (place, sum) in made.iter_mut().zip(sums) {
            *place = sum.to_le_bytes();
        }
        out = rest;
        column += run;
        if column == columns {
            (row, column) = (row + 1, 0);
        }
    }
}
