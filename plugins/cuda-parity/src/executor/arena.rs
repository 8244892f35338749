//! The memory of a run: one arena on the device, bounded, in which what was freed is used again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use onnxport_ir::ops::{Error, Fault, Res};

use super::device::{Address, Device};

/// Where elements may start.
const ALIGNMENT: u64 = 256;
/// The least that is taken from the device at once.
const SEGMENT: u64 = 64 << 20;

/// What is free and what is taken.
#[derive(Debug, Default)]
struct Ledger {
    /// Free ranges: their bytes by their first address.
    free: BTreeMap<Address, u64>,
    /// What was taken from the device: the bytes by the first address.
    segments: BTreeMap<Address, u64>,
    used: u64,
    peak: u64,
}

impl Ledger {
    /// The smallest free range that holds `bytes`.
    fn take(&mut self, bytes: u64) -> Option<Address> {
        let (at, size) =
            self.free.iter().filter(|(_, size)| **size >= bytes).min_by_key(|(_, size)| **size)?;
        let (at, size) = (*at, *size);
        self.free.remove(&at);
        if size > bytes {
            self.free.insert(at + bytes, size - bytes);
        }
        self.used += bytes;
        self.peak = self.peak.max(self.used);
        Some(at)
    }

    /// Frees a range, and joins it with free ones beside it in the same segment.
    fn give(&mut self, at: Address, bytes: u64) {
        self.used -= bytes;
        self.insert(at, bytes);
    }

    fn insert(&mut self, at: Address, bytes: u64) {
        let (mut at, mut bytes) = (at, bytes);
        if let Some((before, size)) = self.free.range(..at).next_back().map(|(a, s)| (*a, *s))
            && before + size == at
            && !self.segments.contains_key(&at)
        {
            self.free.remove(&before);
            (at, bytes) = (before, bytes + size);
        }
        let end = at + bytes;
        if let Some(size) = self.free.get(&end).copied().filter(|_| !self.segments.contains_key(&end)) {
            self.free.remove(&end);
            bytes += size;
        }
        self.free.insert(at, bytes);
    }

    fn held(&self) -> u64 {
        self.segments.values().sum()
    }
}

/// The arena.
#[derive(Clone, Debug)]
pub(crate) struct Arena {
    ledger: Rc<RefCell<Ledger>>,
    limit: u64,
}

/// A range of the arena, which is free again when nobody holds it.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) address: Address,
    size: u64,
    ledger: Rc<RefCell<Ledger>>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.ledger.borrow_mut().give(self.address, self.size);
    }
}

impl Arena {
    /// An empty arena that never takes more than `limit` bytes from the device.
    pub(crate) fn new(limit: u64) -> Self {
        Self { ledger: Rc::default(), limit }
    }

    /// Memory of `bytes`.
    ///
    /// # Errors
    /// [`Fault::Memory`] where the limit or the device does not have them.
    pub(crate) fn take(&self, device: &mut dyn Device, bytes: u64) -> Res<Rc<Memory>> {
        let size = bytes.max(1).checked_next_multiple_of(ALIGNMENT).ok_or_else(|| self.short(bytes))?;
        let mut ledger = self.ledger.borrow_mut();
        let found = match ledger.take(size) {
            Some(at) => at,
            None => {
                self.grow(&mut ledger, device, size)?;
                ledger.take(size).ok_or_else(|| self.short(bytes))?
            }
        };
        Ok(Rc::new(Memory { address: found, size, ledger: self.ledger.clone() }))
    }

    /// Takes a segment of at least `size` bytes from the device; those that are free go back first where there is no room
    /// beside them.
    fn grow(&self, ledger: &mut Ledger, device: &mut dyn Device, size: u64) -> Res<()> {
        if ledger.held().saturating_add(size) > self.limit {
            let idle: Vec<Address> = ledger
                .segments
                .iter()
                .filter(|(at, n)| ledger.free.get(at) == Some(n))
                .map(|(at, _)| *at)
                .collect();
            for at in idle {
                ledger.free.remove(&at);
                ledger.segments.remove(&at);
                device.release(at);
            }
        }
        let room = self.limit.saturating_sub(ledger.held());
        if room < size {
            return Err(self.short(size));
        }
        let wanted = SEGMENT.min(room).max(size);
        let (at, taken) = match device.allocate(wanted) {
            Ok(at) => (at, wanted),
            Err(_) if wanted > size => (device.allocate(size)?, size),
            Err(error) => return Err(error),
        };
        ledger.segments.insert(at, taken);
        ledger.insert(at, taken);
        Ok(())
    }

    fn short(&self, bytes: u64) -> Error {
        let message = format!("another {bytes} bytes do not fit into {} bytes of device memory", self.limit);
        Error { fault: Fault::Memory, message }
    }

    /// The most bytes that were in use at once.
    pub(crate) fn peak(&self) -> u64 {
        self.ledger.borrow().peak
    }

    /// Gives everything back to the device. Nothing of the arena may be held any more.
    pub(crate) fn close(&self, device: &mut dyn Device) {
        let mut ledger = self.ledger.borrow_mut();
        ledger.free.clear();
        for at in std::mem::take(&mut ledger.segments).into_keys() {
            device.release(at);
        }
    }
}
