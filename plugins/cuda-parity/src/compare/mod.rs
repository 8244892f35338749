//! `compare/1` on the GPU: every measure in one pass, in chunks that pass through pinned memory while others are computed.

mod engine;
mod format;
mod slots;
mod totals;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use onnxport_sdk::DType;
use onnxport_sdk::comparer::{Comparer, Comparison, Metrics, Pair, Spread};
use onnxport_sdk::executor::{Failure, Options};

use crate::device::Device;
use engine::Engine;
use format::Format;
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
    /// What comparisons that have ended leave to the next ones.
    idle: Arc<Mutex<Vec<Slots>>>,
}

impl Comparer for Cuda {
    const NAME: &'static str = "CUDA";
    type Comparison = Running<Lent>;

    fn open(options: Options<'_>) -> Result<Self, Failure> {
        let device = Device::open(options)?;
        Ok(Self { device, kernels: HashMap::new(), idle: Arc::default() })
    }

    fn begin(&mut self, pair: Pair<'_>) -> Result<Running<Lent>, Failure> {
        let format = format_of(pair)?;
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
        let engine = Lent { slots: Some(slots), idle: Arc::clone(&self.idle) };
        Ok(Running::new(engine, &format, pair))
    }
}

fn format_of(pair: Pair<'_>) -> Result<Format, Failure> {
    pair.dtype().and_then(Format::of).ok_or_else(|| {
        let name = pair.dtype().map_or("elements of this type", |dtype| dtype.as_str());
        Failure::new(format!("{name} cannot be compared on the GPU")).unsupported()
    })
}

/// Slots that go back when a comparison ends.
pub struct Lent {
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
    fn scan(&mut self, expected: &[u8], size: usize) -> Result<(), Failure> {
        self.slots()?.scan(expected, size)
    }

    fn largest(&mut self) -> Result<f64, Failure> {
        self.slots()?.largest()
    }

    fn chunk(&mut self, got: &[u8], expected: &[u8], size: usize, at: engine::At) -> Result<(), Failure> {
        self.slots()?.chunk(got, expected, size, at)
    }

    fn totals(&mut self) -> Result<Totals, Failure> {
        self.slots()?.totals()
    }
}

/// A comparison on an engine.
pub struct Running<E> {
    engine: E,
    size: usize,
    bits: u32,
    /// How many elements were not compared yet.
    left: u64,
    rtol: f64,
    atol: Scale,
    /// The absolute tolerance of this tensor, once the expected one was scanned.
    scaled: Option<f64>,
    elements: u64,
    found: Option<Totals>,
}

/// The absolute tolerance, and between which values its factor, the largest expected element, is held.
struct Scale {
    atol: f64,
    least: f64,
    most: f64,
}

impl<E: Engine> Running<E> {
    fn new(engine: E, format: &Format, pair: Pair<'_>) -> Self {
        let atol = Scale { atol: pair.unscaled_atol(), least: pair.scale().0, most: pair.scale().1 };
        let parts = if pair.dtype().is_some_and(DType::is_complex) { 2 } else { 1 };
        let left = pair.dims().iter().fold(parts, |count: u64, extent| count.saturating_mul(*extent));
        let (size, bits, rtol) = (format.size, format.bits, pair.rtol());
        Self { engine, size, bits, left, rtol, atol, scaled: None, elements: 0, found: None }
    }
}

/// Elements of less than a byte one in each byte, but no more than `most`; others as they are. They are packed from the
/// lowest bits of each byte on, and may lie in two.
fn apart(bytes: &[u8], bits: u32, most: u64) -> Cow<'_, [u8]> {
    if bits >= 8 {
        return Cow::Borrowed(bytes);
    }
    let count = (bytes.len() as u64 * 8 / u64::from(bits)).min(most);
    let element = |position: u64| {
        let bit = position * u64::from(bits);
        let byte = |at: u64| bytes.get((bit / 8 + at) as usize).copied().unwrap_or_default();
        let pair = u16::from_le_bytes([byte(0), byte(1)]);
        (pair >> (bit % 8)) as u8 & (u8::MAX >> (8 - bits))
    };
    Cow::Owned((0..count).map(element).collect())
}

impl<E: Engine + 'static> Comparison for Running<E> {
    fn scan(&mut self, expected: &[u8]) -> Result<(), Failure> {
        self.engine.scan(&apart(expected, self.bits, u64::MAX), self.size)
    }

    fn chunk(&mut self, got: &[u8], expected: &[u8]) -> Result<(), Failure> {
        let (got, expected) = (&*apart(got, self.bits, self.left), &*apart(expected, self.bits, self.left));
        let count = (got.len().min(expected.len()) / self.size) as u64;
        let atol = match self.scaled {
            Some(atol) => atol,
            None => {
                let Scale { atol, least, most } = self.atol;
                *self.scaled.insert(atol * self.engine.largest()?.max(least).min(most))
            }
        };
        let at = engine::At { base: self.elements, rtol: self.rtol, atol };
        self.engine.chunk(got, expected, self.size, at)?;
        self.elements += count;
        self.left = self.left.saturating_sub(count);
        Ok(())
    }

    fn finish(&mut self) -> Result<Metrics, Failure> {
        let found = self.engine.totals()?;
        let metrics = found.metrics(self.elements);
        self.found = Some(found);
        Ok(metrics)
    }

    fn spread(&mut self) -> Result<Option<Spread>, Failure> {
        Ok(self.found.as_ref().map(Totals::spread))
    }
}
