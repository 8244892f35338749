//! Reductions of weights: a transform with a granule for each group of elements.

use crate::ops::Tensor;
use crate::tensor::transform::{Foreign, Granule, Kernel};
use crate::tensor::{DType, Error, LazyTensor, Transform};

/// How a group becomes one element, computed in f64 in the order of the elements, as the evaluator does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    /// The mean.
    Mean,
    /// The sum.
    Sum,
    /// The root of the sum of the squares.
    L2,
}

/// The largest group: one is held in memory.
const GROUP: u64 = 1 << 16;

/// Returns the sums of `data` along `axes`, which are removed, added in the order of the elements; `None` if the
/// data are not floats or a sum has more than 65,536 terms.
pub fn summed(data: &LazyTensor, axes: &[usize]) -> Option<LazyTensor> {
    let known = axes.iter().all(|axis| *axis < data.shape.len());
    (known && super::formula::is_float(data.dtype))
        .then(|| along(data, axes, false, Reduction::Sum))
        .flatten()
}

/// `data` reduced along `axes`, which stay with the size 1 if `keep`.
pub(super) fn along(
    data: &LazyTensor,
    axes: &[usize],
    keep: bool,
    reduction: Reduction,
) -> Option<LazyTensor> {
    let rank = data.shape.len();
    let (mut order, mut kept, mut shape, mut size) = (Vec::new(), Vec::new(), Vec::new(), 1u64);
    for axis in (0..rank).filter(|axis| !axes.contains(axis)) {
        order.push(axis);
        kept.push(*data.shape.get(axis)?);
    }
    for axis in 0..rank {
        let extent = *data.shape.get(axis)?;
        if axes.contains(&axis) {
            order.push(axis);
            size = size.checked_mul(extent)?;
        }
        match (axes.contains(&axis), keep) {
            (true, true) => shape.push(1),
            (true, false) => {}
            (false, _) => shape.push(extent),
        }
    }
    if size == 0 || size > GROUP {
        return None;
    }
    // An axis of size 1 can be at any position.
    order.retain(|axis| data.shape.get(*axis) != Some(&1));
    let transposed = if order.is_sorted() {
        data.clone()
    } else {
        order.extend((0..rank).filter(|axis| data.shape.get(*axis) == Some(&1)));
        data.permute(&order)?
    };
    transposed.then(Transform::Foreign(Foreign::new(Groups { reduction, size, kept })))?.reshape(&shape)
}

/// The transform.
struct Groups {
    reduction: Reduction,
    /// Elements of a group, which follow each other.
    size: u64,
    /// The sizes of the result.
    kept: Vec<u64>,
}

impl Kernel for Groups {
    fn name(&self) -> &str {
        match self.reduction {
            Reduction::Mean => "mean",
            Reduction::Sum => "sum",
            Reduction::L2 => "L2 norm",
        }
    }

    fn granule(&self) -> Granule {
        Granule::Block(self.size)
    }

    fn output(&self, dtype: DType, shape: &[u64]) -> Option<(DType, Vec<u64>)> {
        let all = shape.iter().try_fold(1u64, |n, extent| n.checked_mul(*extent))?;
        let made = self.kept.iter().try_fold(self.size, |n, extent| n.checked_mul(*extent))?;
        (all == made).then(|| (dtype, self.kept.clone()))
    }

    fn apply(&self, dtype: DType, _: u64, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let size = usize::try_from(self.size).map_err(|_| Error::Short)?;
        let unit = usize::try_from(dtype.bits() / 8).map_err(|_| Error::Short)?;
        let fault = |_| Error::View("a reduction does not take its type of element");
        let elements = LazyTensor::inline(dtype, vec![(input.len() / unit) as u64], input.to_vec());
        let groups = Tensor::read(&elements).and_then(|elements| elements.floats()).map_err(fault)?;
        let made: Vec<f64> = groups.chunks_exact(size).map(|group| self.of(group)).collect();
        let made = Tensor::of_floats(dtype, vec![made.len()], made).and_then(|made| made.to_lazy());
        let made = made.map_err(fault)?;
        let bytes = made.read().filter(|bytes| bytes.len() == out.len()).ok_or(Error::Short)?;
        out.copy_from_slice(&bytes);
        Ok(())
    }
}

impl Groups {
    fn of(&self, group: &[f64]) -> f64 {
        // From `0.0`: the sum of nothing has no sign.
        match self.reduction {
            Reduction::Mean => group.iter().fold(0.0, |sum, x| sum + x) / group.len() as f64,
            Reduction::Sum => group.iter().fold(0.0, |sum, x| sum + x),
            Reduction::L2 => group.iter().fold(0.0, |sum, x| sum + x * x).sqrt(),
        }
    }
}
