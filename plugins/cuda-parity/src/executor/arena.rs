//! The memory of a run: one bounded arena on the device, in which freed blocks are reused.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use onnxport_ir::ops::{Error, Fault, Res};

use super::device::{Address, Device};
use super::plan::{Claim, Layout, MOST};

/// Where elements may start.
const ALIGNMENT: u64 = 256;
/// The least that is taken from the device at once.
const SEGMENT: u64 = 64 << 20;

/// Free and allocated blocks.
#[derive(Debug, Default)]
struct Ledger {
    /// Free ranges: their bytes by their first address.
    free: BTreeMap<Address, u64>,
    /// Allocations from the device: bytes by first address.
    segments: BTreeMap<Address, u64>,
    used: u64,
    peak: u64,
    planned: Option<Planned>,
    /// The requests of a rehearsal, and the numbers of allocations and releases.
    rehearsed: Option<(Vec<Claim>, u64)>,
}

/// A block of memory whose places are planned.
#[derive(Debug)]
struct Planned {
    base: Address,
    layout: Layout,
    /// The claim that comes next.
    next: usize,
}

impl Planned {
    /// The planned offset of the current request; `None` once a run deviates from its rehearsal.
    fn place(&mut self, bytes: u64) -> Option<Address> {
        let (claim, offset) = (self.layout.claims.get(self.next)?, self.layout.offsets.get(self.next)?);
        if claim.bytes != bytes {
            self.next = self.layout.claims.len();
            return None;
        }
        self.next += 1;
        self.base.checked_add(*offset)
    }
}

impl Ledger {
    /// The range that begins at `at`, if it is free.
    fn take_at(&mut self, at: Address, bytes: u64) -> Option<Address> {
        let (start, size) = self.free.range(..=at).next_back().map(|(start, size)| (*start, *size))?;
        let end = at.checked_add(bytes)?;
        if start + size < end {
            return None;
        }
        self.free.remove(&start);
        if start < at {
            self.free.insert(start, at - start);
        }
        if end < start + size {
            self.free.insert(end, start + size - end);
        }
        self.count(bytes);
        Some(at)
    }

    fn count(&mut self, bytes: u64) {
        self.used += bytes;
        self.peak = self.peak.max(self.used);
    }

    /// Records an allocation of a rehearsal. Its address is its number.
    fn rehearse(&mut self, bytes: u64) -> Option<Result<Address, ()>> {
        let (claims, clock) = self.rehearsed.as_mut()?;
        if claims.len() >= MOST {
            return Some(Err(()));
        }
        claims.push(Claim { bytes, from: *clock, to: u64::MAX });
        *clock += 1;
        Some(Ok(claims.len() as Address - 1))
    }

    /// The smallest free range that holds `bytes`.
    fn take(&mut self, bytes: u64) -> Option<Address> {
        let (at, size) =
            self.free.iter().filter(|(_, size)| **size >= bytes).min_by_key(|(_, size)| **size)?;
        let (at, size) = (*at, *size);
        self.free.remove(&at);
        if size > bytes {
            self.free.insert(at + bytes, size - bytes);
        }
        self.count(bytes);
        Some(at)
    }

    /// Frees a range, and joins it with free ones beside it in the same segment.
    fn give(&mut self, at: Address, bytes: u64) {
        if let Some((claims, clock)) = &mut self.rehearsed {
            if let Some(claim) = usize::try_from(at).ok().and_then(|at| claims.get_mut(at)) {
                claim.to = *clock;
            }
            *clock += 1;
            return;
        }
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

    /// An arena without memory that records requests.
    pub(crate) fn rehearsing() -> Self {
        let ledger = Ledger { rehearsed: Some(<(Vec<Claim>, u64)>::default()), ..Ledger::default() };
        Self { ledger: Rc::new(RefCell::new(ledger)), limit: u64::MAX }
    }

    /// The requests of a rehearsal.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        let (mut claims, clock) = self.ledger.borrow().rehearsed.clone().unwrap_or_default();
        for claim in &mut claims {
            claim.to = claim.to.min(clock);
        }
        claims
    }

    /// Reserves a block for a rehearsed run. If it does not fit in one piece, the run allocates on demand. A
    /// `complete` plan covers all allocations of the run.
    ///
    /// # Errors
    /// [`Fault::Memory`] if the run would need more at once than the limit allows.
    pub(crate) fn plan(&self, device: &mut dyn Device, layout: Layout, complete: bool) -> Res<()> {
        let mut ledger = self.ledger.borrow_mut();
        ledger.planned = None;
        ledger.peak = ledger.used;
        let room = self.limit.saturating_sub(ledger.used);
        if layout.live > room && complete {
            let message = format!(
                "{} bytes of device memory are needed at once, and {} are allowed",
                layout.live, self.limit
            );
            return Err(Error { fault: Fault::Memory, message });
        }
        if layout.bytes == 0 {
            return Ok(());
        }
        let fits = |ledger: &Ledger| {
            let found = ledger.free.iter().filter(|(_, size)| **size >= layout.bytes);
            found.min_by_key(|(_, size)| **size).map(|(at, _)| *at)
        };
        let base = match fits(&ledger) {
            Some(at) => Some(at),
            None => {
                Self::let_go(&mut ledger, device);
                let has_room = self.limit.saturating_sub(ledger.held()) >= layout.bytes;
                let taken = match has_room.then(|| device.allocate(layout.bytes)).transpose() {
                    Err(Error { fault: Fault::Memory, .. }) => None,
                    taken => taken?,
                };
                if let Some(at) = taken {
                    ledger.segments.insert(at, layout.bytes);
                    ledger.insert(at, layout.bytes);
                }
                taken
            }
        };
        ledger.planned = base.map(|base| Planned { base, layout, next: 0 });
        Ok(())
    }

    /// Memory of `bytes`: where it is planned, else where there is room.
    ///
    /// # Errors
    /// [`Fault::Memory`] where the limit or the device does not have them.
    pub(crate) fn take(&self, device: &mut dyn Device, bytes: u64) -> Res<Rc<Memory>> {
        let size = bytes.max(1).checked_next_multiple_of(ALIGNMENT).ok_or_else(|| self.short(bytes))?;
        let mut ledger = self.ledger.borrow_mut();
        if let Some(noted) = ledger.rehearse(size) {
            let address = noted.map_err(|()| self.short(bytes))?;
            return Ok(Rc::new(Memory { address, size, ledger: self.ledger.clone() }));
        }
        let planned = ledger.planned.as_mut().and_then(|planned| planned.place(size));
        // A run that deviates from its rehearsal may still hold blocks that should be free by now.
        let planned = planned.and_then(|at| ledger.take_at(at, size));
        let found = match planned.or_else(|| ledger.take(size)) {
            Some(at) => at,
            None => {
                self.grow(&mut ledger, device, size)?;
                ledger.take(size).ok_or_else(|| self.short(bytes))?
            }
        };
        Ok(Rc::new(Memory { address: found, size, ledger: self.ledger.clone() }))
    }

    /// Takes a segment of at least `size` bytes from the device; free segments are returned first if there is no room
    /// beside them.
    fn grow(&self, ledger: &mut Ledger, device: &mut dyn Device, size: u64) -> Res<()> {
        if ledger.held().saturating_add(size) > self.limit {
            Self::let_go(ledger, device);
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

    /// Gives segments back to the device of which nothing is taken.
    fn let_go(ledger: &mut Ledger, device: &mut dyn Device) {
        let is_idle = |(at, size): &(&Address, &u64)| ledger.free.get(at) == Some(size);
        let idle: Vec<Address> = ledger.segments.iter().filter(is_idle).map(|(at, _)| *at).collect();
        for at in idle {
            if ledger.planned.as_ref().is_some_and(|planned| planned.base == at) {
                ledger.planned = None;
            }
            ledger.free.remove(&at);
            ledger.segments.remove(&at);
            device.release(at);
        }
    }

    fn short(&self, bytes: u64) -> Error {
        let message = format!("another {bytes} bytes do not fit into {} bytes of device memory", self.limit);
        Error { fault: Fault::Memory, message }
    }

    /// The most bytes that were in use at once.
    pub(crate) fn peak(&self) -> u64 {
        self.ledger.borrow().peak
    }

    /// The bytes that are taken from the device.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> u64 {
        self.ledger.borrow().held()
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
