//! Transforms provided by plugins.

use std::fmt;
use std::sync::Arc;

use super::super::{DType, Error};
use super::Granule;

/// A transform of a plugin, or of a scheme of its own.
pub trait Kernel: Send + Sync {
    /// The name, for display and as its identity: kernels with equal names and equal granules produce equal bytes
    /// from equal bytes.
    fn name(&self) -> &str;

    /// The smallest piece that can be made on its own: [`Granule::Block`], [`Granule::Row`] or
    /// [`Granule::Whole`]. Blocks are those of the elements in row-major order; the last may be short.
    fn granule(&self) -> Granule;

    /// The type and the sizes of the result; `None` when it does not take the input. Every granule
    /// gives as many bytes: the result divides by the number of granules, the last one excepted where
    /// it is short.
    fn output(&self, dtype: DType, shape: &[u64]) -> Option<(DType, Vec<u64>)>;

    /// Makes `out`, the bytes of whole granules from number `first` on, from those of the input. Called
    /// from several threads.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn apply(&self, dtype: DType, first: u64, input: &[u8], out: &mut [u8]) -> Result<(), Error>;
}

/// A shared [`Kernel`].
#[derive(Clone)]
pub struct Foreign(Arc<dyn Kernel>);

impl Foreign {
    /// Makes a transform of `kernel`.
    pub fn new(kernel: impl Kernel + 'static) -> Self {
        Self(Arc::new(kernel))
    }

    pub(super) fn output(&self, dtype: DType, shape: &[u64]) -> Option<(DType, Vec<u64>)> {
        let (to, extents) = self.0.output(dtype, shape)?;
        // Pieces are joined at bytes.
        to.bits().is_multiple_of(8).then_some((to, extents))
    }

    pub(super) fn granule(&self) -> Granule {
        self.0.granule()
    }

    pub(super) fn describe(&self) -> String {
        self.0.name().to_owned()
    }

    pub(in crate::tensor) fn apply(
        &self,
        dtype: DType,
        first: u64,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<(), Error> {
        self.0.apply(dtype, first, input, out)
    }
}

impl PartialEq for Foreign {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Foreign({})", self.0.name())
    }
}
