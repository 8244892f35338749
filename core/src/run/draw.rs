//! Values that nobody gives.

use crate::ops::{Budget, Elements, Limits, Tensor};
use crate::tensor::{DType, Kind, LazyTensor};

/// What a drawn input takes at most, in bytes of the widest elements.
const MOST: u64 = 16 << 30;

/// How values are drawn: floats between -1 and 1, integers and truth values 0 or 1. One is an index that most tables
/// have, and a place that a mask leaves open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Draw {
    /// The same seed gives the same values.
    pub seed: u64,
}

impl Draw {
    /// The value of the input at place `at`, which does not depend on those of others.
    pub(super) fn tensor(self, at: usize, dtype: DType, shape: Vec<u64>) -> Result<LazyTensor, String> {
        let shape: Option<Vec<usize>> = shape.iter().map(|d| usize::try_from(*d).ok()).collect();
        let shape = shape.ok_or("it is too large")?;
        let budget = Budget::new(Limits { bytes: MOST, steps: u64::MAX });
        let count = budget.count(&shape).map_err(|e| e.message)?;
        let mut numbers = Numbers(self.seed ^ (at as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03));
        let elements = match dtype.kind() {
            Kind::Float => Elements::Float((0..count).map(|_| numbers.unit()).collect()),
            Kind::Int => Elements::Int((0..count).map(|_| i128::from(numbers.next() >> 63)).collect()),
            Kind::Bool => Elements::Bool((0..count).map(|_| numbers.next() >> 63 == 1).collect()),
            Kind::Complex => {
                Elements::Complex((0..count).map(|_| [numbers.unit(), numbers.unit()]).collect())
            }
            Kind::Text => return Err("it is text".to_owned()),
        };
        let tensor = Tensor::new(dtype, shape, &elements).and_then(|tensor| tensor.to_lazy());
        tensor.map_err(|e| e.message)
    }
}

/// `SplitMix64`: <https://prng.di.unimi.it/splitmix64.c>.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Between -1 and 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}
