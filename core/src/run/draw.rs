//! Drawn values for inputs that the user does not give.

use std::time::Duration;

use crate::ops::{Budget, Elements, Limits, Tensor};
use crate::random::Random;
use crate::tensor::{DType, Kind, LazyTensor};

/// The size limit of a drawn input, in bytes of the widest elements.
const MOST: u64 = 16 << 30;

/// How values are drawn: floats between -1 and 1, integers and truth values 0 or 1. One is a valid index for most
/// tables, and an unmasked position of a mask.
#[derive(Clone, Copy, Debug, Default)]
pub struct Draw {
    /// The same seed gives the same values.
    pub seed: u64,
}

impl Draw {
    /// Returns the value of the input at position `at`, which does not depend on those of others.
    pub(super) fn tensor(self, at: usize, dtype: DType, shape: Vec<u64>) -> Result<LazyTensor, String> {
        let shape: Option<Vec<usize>> = shape.iter().map(|d| usize::try_from(*d).ok()).collect();
        let shape = shape.ok_or("it is too large")?;
        let budget = Budget::new(Limits { bytes: MOST, steps: u64::MAX, time: Duration::MAX });
        let count = budget.count(&shape).map_err(|e| e.message)?;
        let mut random = Random::new(self.seed ^ (at as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03));
        let elements = match dtype.kind() {
            Kind::Float => Elements::Float((0..count).map(|_| signed(&mut random)).collect()),
            Kind::Int => Elements::Int((0..count).map(|_| i128::from(random.bits() >> 63)).collect()),
            Kind::Bool => Elements::Bool((0..count).map(|_| random.bits() >> 63 == 1).collect()),
            Kind::Complex => {
                Elements::Complex((0..count).map(|_| [signed(&mut random), signed(&mut random)]).collect())
            }
            Kind::Text => return Err("it is text".to_owned()),
        };
        let tensor = Tensor::new(dtype, shape, &elements).and_then(|tensor| tensor.to_lazy());
        tensor.map_err(|e| e.message)
    }
}

/// Between -1 and 1.
fn signed(random: &mut Random) -> f64 {
    random.unit() * 2.0 - 1.0
}
