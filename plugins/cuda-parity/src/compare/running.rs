//! A comparison of two tensors on an engine.

use std::borrow::Cow;

use onnxport_sdk::DType;
use onnxport_sdk::comparer::{Comparison, Metrics, Pair, Spread};
use onnxport_sdk::executor::Failure;

use super::engine::{At, Engine, Side};
use super::format::Format;
use super::totals::Totals;

/// A comparison that has begun.
pub struct Running {
    engine: Box<dyn Engine>,
    size: usize,
    bits: u32,
    /// How many elements were not compared yet.
    left: u64,
    rtol: f64,
    atol: Scale,
    /// The absolute tolerance of this tensor, once the expected one was scanned.
    scaled: Option<f64>,
    kept: Resident,
    scanned: u64,
    elements: u64,
    found: Option<Totals>,
}

/// The absolute tolerance, and between which values its factor, the largest expected element, is held.
#[derive(Default)]
struct Scale {
    atol: f64,
    least: f64,
    most: f64,
}

/// The part of the expected tensor that is on the device.
enum Resident {
    /// Nothing was scanned.
    Unasked,
    /// The elements from the first one on, so many bytes, from this address on.
    Here(u64, u64),
    /// It does not fit.
    Nothing,
}

impl Running {
    pub(super) fn new(engine: Box<dyn Engine>, format: &Format, pair: Pair<'_>) -> Self {
        let parts = if pair.dtype().is_some_and(DType::is_complex) { 2 } else { 1 };
        let count = pair.dims().iter().fold(parts, |count: u64, extent| count.saturating_mul(*extent));
        let atol = Scale { atol: pair.unscaled_atol(), least: pair.scale().0, most: pair.scale().1 };
        Self { rtol: pair.rtol(), atol, ..Self::exact(engine, format, count) }
    }

    /// A comparison of `count` elements, of which each has to be the expected one.
    pub(crate) fn exact(engine: Box<dyn Engine>, format: &Format, count: u64) -> Self {
        Self {
            engine,
            size: format.size,
            bits: format.bits,
            left: count,
            rtol: 0.0,
            atol: Scale::default(),
            scaled: None,
            kept: Resident::Unasked,
            scanned: 0,
            elements: 0,
            found: None,
        }
    }

    /// Compares the elements at an address of the device with all expected ones.
    ///
    /// # Errors
    /// An error of the device.
    pub(crate) fn held(&mut self, address: u64, expected: &[u8]) -> Result<(), Failure> {
        self.next(Side::Device(address), Side::Host(expected), (expected.len() / self.size) as u64)
    }

    /// Where the next bytes of the expected tensor stay on the device.
    fn place(&mut self, bytes: u64) -> Result<Option<u64>, Failure> {
        let all = self.left.saturating_mul(self.size as u64);
        if matches!(self.kept, Resident::Unasked) {
            self.kept =
                self.engine.keep(all)?.map_or(Resident::Nothing, |address| Resident::Here(address, 0));
        }
        Ok(match &mut self.kept {
            Resident::Here(address, filled) if self.elements == 0 && *filled + bytes <= all => {
                let to = *address + *filled;
                *filled += bytes;
                Some(to)
            }
            _ => None,
        })
    }

    fn next(&mut self, got: Side<'_>, expected: Side<'_>, count: u64) -> Result<(), Failure> {
        let atol = match self.scaled {
            Some(atol) => atol,
            None => {
                let Scale { atol, least, most } = self.atol;
                *self.scaled.insert(atol * self.engine.largest()?.max(least).min(most))
            }
        };
        let (size, base) = (self.size as u64, self.elements);
        let expected = match self.kept {
            Resident::Here(address, filled) if (base + count) * size <= filled => {
                Side::Device(address + base * size)
            }
            _ => expected,
        };
        self.engine.chunk(got, expected, count, self.size, At { base, rtol: self.rtol, atol })?;
        self.elements += count;
        self.left = self.left.saturating_sub(count);
        Ok(())
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

impl Comparison for Running {
    fn scan(&mut self, expected: &[u8]) -> Result<(), Failure> {
        let expected = apart(expected, self.bits, self.left.saturating_sub(self.scanned));
        self.scanned += (expected.len() / self.size) as u64;
        let to = self.place(expected.len() as u64)?;
        self.engine.scan(&expected, self.size, to)
    }

    fn chunk(&mut self, got: &[u8], expected: &[u8]) -> Result<(), Failure> {
        let (got, expected) = (&*apart(got, self.bits, self.left), &*apart(expected, self.bits, self.left));
        let count = (got.len().min(expected.len()) / self.size) as u64;
        self.next(Side::Host(got), Side::Host(expected), count)
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
