//! `compare/1` on the GPU: every measure in one pass, in chunks that pass through pinned memory while others are computed.
//!
//! The expected tensor stays on the device from the search for its largest element on, if it fits. The executor
//! compares tensors on its device itself, with the same engine.

mod engine;
mod format;
mod running;
mod slots;
#[cfg(test)]
pub(crate) mod tests;
mod totals;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use onnxport_sdk::comparer::{Comparer, Pair};
use onnxport_sdk::executor::{Failure, Options};

use crate::device::Device;
pub(crate) use engine::Engine;
use engine::{At, Side};
pub(crate) use format::Format;
pub(crate) use running::Running;
use slots::{Kernels, Slots};
use totals::Totals;

/// The threads of a block, and the blocks of a grid: the same on every device, so that sums are.
const THREADS: u32 = 256;
const BLOCKS: u32 = 512;

/// Compares on a GPU.
pub struct Cuda {
    device: Device,
    /// The kernels that were compiled, by their source.
    kernels: HashMap<String, Kernels>,
    /// Resources that finished comparisons leave to later ones.
    idle: Arc<Mutex<Vec<Slots>>>,
}

impl Cuda {
    /// A comparer on a device that was opened.
    pub(crate) fn on(device: Device) -> Self {
        Self { device, kernels: HashMap::new(), idle: Arc::default() }
    }

    /// The engine for elements of this format.
    ///
    /// # Errors
    /// An error of the compiler or the driver.
    pub(crate) fn engine(&mut self, format: &Format) -> Result<Box<dyn Engine>, Failure> {
        let source = format.source(THREADS);
        let kernels = match self.kernels.get(&source) {
            Some(kernels) => kernels.clone(),
            None => {
                let kernels = Kernels::load(&self.device, &source)?;
                self.kernels.insert(source, kernels.clone());
                kernels
            }
        };
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut slots = match idle {
            Some(slots) => slots,
            None => Slots::new(&self.device)?,
        };
        slots.begin(kernels)?;
        Ok(Box::new(Lent { slots: Some(slots), idle: Arc::clone(&self.idle) }))
    }
}

impl Comparer for Cuda {
    const NAME: &'static str = "CUDA";
    type Comparison = Running;

    fn open(options: Options<'_>) -> Result<Self, Failure> {
        Ok(Self::on(Device::open(options)?))
    }

    fn begin(&mut self, pair: Pair<'_>) -> Result<Running, Failure> {
        let format = format_of(pair)?;
        Ok(Running::new(self.engine(&format)?, &format, pair))
    }
}

fn format_of(pair: Pair<'_>) -> Result<Format, Failure> {
    pair.dtype().and_then(Format::for_type).ok_or_else(|| {
        let name = pair.dtype().map_or("elements of this type", |dtype| dtype.as_str());
        Failure::new(format!("{name} cannot be compared on the GPU")).unsupported()
    })
}

/// Slots that go back when a comparison ends.
struct Lent {
    slots: Option<Slots>,
    idle: Arc<Mutex<Vec<Slots>>>,
}

impl Lent {
    fn slots(&mut self) -> Result<&mut Slots, Failure> {
        self.slots.as_mut().ok_or_else(|| Failure::new("the comparison has ended"))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // After an error something may still be under way.
        if let Some(slots) = self.slots.take().filter(Slots::is_sound) {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(slots);
        }
    }
}

impl Engine for Lent {
    fn keep(&mut self, bytes: u64) -> Result<Option<u64>, Failure> {
        self.slots()?.keep(bytes)
    }

    fn scan(&mut self, expected: &[u8], size: usize, to: Option<u64>) -> Result<(), Failure> {
        self.slots()?.scan(expected, size, to)
    }

    fn largest(&mut self) -> Result<f64, Failure> {
        self.slots()?.largest()
    }

    fn chunk(
        &mut self,
        got: Side<'_>,
        expected: Side<'_>,
        count: u64,
        size: usize,
        at: At,
    ) -> Result<(), Failure> {
        self.slots()?.chunk(got, expected, count, size, at)
    }

    fn totals(&mut self) -> Result<Totals, Failure> {
        self.slots()?.totals()
    }
}
