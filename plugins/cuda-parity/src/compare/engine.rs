//! The engine that runs the kernels of `compare.cu`.

use onnxport_sdk::executor::Failure;

use super::totals::Totals;

/// The position of a chunk in its tensor, and the tolerance.
#[derive(Clone, Copy)]
pub(crate) struct At {
    /// How many elements come before.
    pub(super) base: u64,
    /// The relative tolerance.
    pub(super) rtol: f64,
    /// The absolute tolerance.
    pub(super) atol: f64,
}

/// Where the elements of one tensor of a chunk are.
#[derive(Clone, Copy)]
pub(crate) enum Side<'a> {
    /// Bytes of the host.
    Host(&'a [u8]),
    /// On the device, from this address on.
    Device(u64),
}

impl Side<'_> {
    /// At most `most` bytes from the byte `from` on.
    pub(super) fn part(self, from: usize, most: usize) -> Self {
        match self {
            Self::Host(bytes) => {
                let rest = bytes.get(from..).unwrap_or_default();
                Self::Host(rest.get(..most).unwrap_or(rest))
            }
            Self::Device(address) => Self::Device(address + from as u64),
        }
    }
}

/// Something that runs the kernels on chunks of elements of `size` bytes.
pub(crate) trait Engine {
    /// Makes room on the device for so many bytes of the expected tensor: where it begins. `None` where there is none.
    ///
    /// # Errors
    /// An error of the device.
    fn keep(&mut self, bytes: u64) -> Result<Option<u64>, Failure>;

    /// Looks for the largest finite magnitude in the next elements, which stay at the address `to` where one is given.
    ///
    /// # Errors
    /// An error of the device.
    fn scan(&mut self, expected: &[u8], size: usize, to: Option<u64>) -> Result<(), Failure>;

    /// Returns the largest finite magnitude of the scanned elements, after waiting for all of them.
    ///
    /// # Errors
    /// An error of the device.
    fn largest(&mut self) -> Result<f64, Failure>;

    /// Compares the next `count` elements.
    ///
    /// # Errors
    /// An error of the device.
    fn chunk(
        &mut self,
        got: Side<'_>,
        expected: Side<'_>,
        count: u64,
        size: usize,
        at: At,
    ) -> Result<(), Failure>;

    /// The results of all chunks.
    ///
    /// # Errors
    /// An error of the device.
    fn totals(&mut self) -> Result<Totals, Failure>;
}
