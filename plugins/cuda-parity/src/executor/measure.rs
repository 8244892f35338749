//! Values that are compared where they are.

use onnxport_ir::ops::{Error, Res};
use onnxport_ir::tensor::DType;
use onnxport_sdk::comparer::{Comparison, Metrics, Spread};
use onnxport_sdk::executor::Failure;
use rustc_hash::FxHashMap;

use super::engine::Engine;
use super::value::{Array, Held};
use crate::compare::{Format, Running};

/// A tensor that a result is held against: its bytes are dense.
#[derive(Clone, Debug)]
pub(crate) struct Expected<'a> {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: &'a [u8],
}

/// How far a result is from the expected one.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    pub(crate) metrics: Metrics,
    pub(crate) spread: Spread,
    /// The bytes of its first element that is another one.
    pub(crate) first: Vec<u8>,
}

/// The expected values, and the receiver of differences.
pub(crate) struct Meter<'a> {
    pub(crate) expected: FxHashMap<&'a str, Expected<'a>>,
    pub(crate) tell: &'a mut dyn FnMut(&str, &Measurement),
}

impl Meter<'_> {
    /// Whether a value was compared where it is. Those that are elsewhere, or of another type or shape, are not.
    pub(crate) fn takes(&mut self, engine: &mut Engine, name: &str, held: &Held) -> Res<bool> {
        let Some(expected) = self.expected.get(name) else { return Ok(false) };
        let fits = held.operand().is_some_and(|x| x.dtype == expected.dtype && x.shape == expected.shape);
        if !fits || held.host().is_some() {
            return Ok(false);
        }
        let Some(array) = engine.on_device(held)? else { return Ok(false) };
        let Some(found) = engine.measure(&array, expected.bytes)? else { return Ok(false) };
        (self.tell)(name, &found);
        Ok(true)
    }
}

fn failed(why: Failure) -> Error {
    Error::unsupported(why.message)
}

impl Engine {
    /// How far a tensor is from bytes of its type and shape; `None` where such elements are not compared.
    fn measure(&mut self, array: &Array, expected: &[u8]) -> Res<Option<Measurement>> {
        let format =
            Format::for_type(array.dtype).filter(|_| !array.dtype.is_complex() && array.dtype.bits() >= 8);
        let Some(format) = format else { return Ok(None) };
        // Its computation is finished by then.
        self.settle()?;
        let count = super::ops::volume(&array.shape) as u64;
        if count * format.size as u64 != expected.len() as u64 {
            return Ok(None);
        }
        let mut running = Running::exact(self.comparison(&format)?, &format, count);
        running.held(array.memory.address, expected).map_err(failed)?;
        let metrics = running.finish().map_err(failed)?;
        let Some(spread) = running.spread().map_err(failed)? else { return Ok(None) };
        let first = match metrics.first {
            Some(at) => self.bytes(array.memory.address + at * format.size as u64, format.size)?,
            None => Vec::new(),
        };
        self.counts.compared += 1;
        Ok(Some(Measurement { metrics, spread, first }))
    }
}
