//! What runs the kernels of `compare.cu`.

use onnxport_sdk::executor::Failure;

use super::totals::Totals;

/// Where a chunk lies in its tensor, and what is allowed.
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
    /// What the device reports.
    fn keep(&mut self, bytes: u64) -> Result<Option<u64>, Failure>;

    /// Looks for the largest finite magnitude in the next elements, which stay at the address `to` where one is given.
    ///
    /// # Errors
    /// What the device reports.
    fn scan(&mut self, expected: &[u8], size: usize, to: Option<u64>) -> Result<(), Failure>;

    /// The largest finite magnitude of what was scanned, all of which is there then.
    ///
    /// # Errors
    /// What the device reports.
    fn largest(&mut self) -> Result<f64, Failure>;

    /// Compares the next `count` elements.
    ///
    /// # Errors
    /// What the device reports.
    fn chunk(
        &mut self,
        got: Side<'_>,
        expected: Side<'_>,
        count: u64,
        size: usize,
        at: At,
    ) -> Result<(), Failure>;

    /// What was found in all chunks.
    ///
    /// # Errors
    /// What the device reports.
    fn totals(&mut self) -> Result<Totals, Failure>;
}
