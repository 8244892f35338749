//! What runs the kernels of `compare.cu`.

use onnxport_sdk::executor::Failure;

use super::totals::Totals;

/// Where a chunk lies in its tensor, and what is allowed.
#[derive(Clone, Copy)]
pub struct At {
    /// How many elements come before.
    pub(super) base: u64,
    /// The relative tolerance.
    pub(super) rtol: f64,
    /// The absolute tolerance.
    pub(super) atol: f64,
}

/// Something that runs the kernels on chunks of elements of `size` bytes.
pub trait Engine {
    /// Looks for the largest finite magnitude in the next elements.
    ///
    /// # Errors
    /// What the device reports.
    fn scan(&mut self, expected: &[u8], size: usize) -> Result<(), Failure>;

    /// The largest finite magnitude of what was scanned.
    ///
    /// # Errors
    /// What the device reports.
    fn largest(&mut self) -> Result<f64, Failure>;

    /// Compares the next elements.
    ///
    /// # Errors
    /// What the device reports.
    fn chunk(&mut self, got: &[u8], expected: &[u8], size: usize, at: At) -> Result<(), Failure>;

    /// What was found in all chunks.
    ///
    /// # Errors
    /// What the device reports.
    fn totals(&mut self) -> Result<Totals, Failure>;
}
