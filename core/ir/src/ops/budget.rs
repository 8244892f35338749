//! Bounds on the resources of an evaluation, so that a hostile model is an error and not a hang.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::tensor::elements;
use super::{Error, Fault, Res};

/// The resources that an evaluation may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the values that are alive at once, together with one result under construction.
    pub bytes: u64,
    /// Elements computed and products summed, over the whole run. Each run of a node, and of a nested graph, counts as a
    /// thousand.
    pub steps: u64,
    /// The time of the whole run.
    pub time: Duration,
}

impl Default for Limits {
    /// 4 GiB and a minute. A single node may take all steps before the time is looked at, which is why they are no more
    /// than about a minute takes.
    fn default() -> Self {
        Self { bytes: 4 << 30, steps: 50_000_000_000, time: Duration::from_mins(1) }
    }
}

/// The steps that a run of a node or of a nested graph takes beside those of its results: about the time of that many
/// elements.
pub(super) const NODE: u64 = 1000;

/// After this many steps the time is looked at.
const LOOK: u64 = 1 << 22;

/// Bytes that one element of a result under construction takes at most: [`Elements`](super::Elements) of
/// complex numbers or wide integers.
const WIDEST: u64 = 16;

/// The rest of the [`Limits`].
#[derive(Debug)]
pub struct Budget {
    bytes: Cell<u64>,
    steps: Cell<u64>,
    limits: Limits,
    /// When the time is used up; `None` where it never is.
    end: Option<Instant>,
    /// The steps that are left when the time is looked at next.
    look: Cell<u64>,
}

impl Budget {
    /// Nothing is used yet.
    pub fn new(limits: Limits) -> Self {
        let Limits { bytes, steps, time } = limits;
        let end = Instant::now().checked_add(time);
        Self { bytes: Cell::new(bytes), steps: Cell::new(steps), limits, end, look: Cell::new(steps) }
    }

    /// The number of elements of a result of this shape. Ask before making room for it.
    ///
    /// # Errors
    /// [`Fault::Memory`] when it does not fit, and as [`spend`](Self::spend).
    pub fn count(&self, shape: &[usize]) -> Res<usize> {
        // A walk over a tensor without elements may still visit its other extents.
        let walked: Vec<usize> = shape.iter().map(|extent| (*extent).max(1)).collect();
        let fits = |n: &usize| (*n as u64).checked_mul(WIDEST).is_some_and(|bytes| bytes <= self.bytes.get());
        let (Some(count), Some(walked)) = (elements(shape), elements(&walked).filter(fits)) else {
            let message = format!("a result of shape {shape:?} does not fit into the budget of memory");
            return Err(Error { fault: Fault::Memory, message });
        };
        self.spend(walked as u64)?;
        Ok(count)
    }

    /// Spends `steps`, and at least one.
    ///
    /// # Errors
    /// [`Fault::Steps`] when there are fewer, [`Fault::Time`] when the time is used up.
    pub fn spend(&self, steps: u64) -> Res<()> {
        let Some(left) = self.steps.get().checked_sub(steps.max(1)) else {
            let message = format!("the budget of {} steps is used up", self.limits.steps);
            return Err(Error { fault: Fault::Steps, message });
        };
        self.steps.set(left);
        if left < self.look.get() {
            self.look.set(left.saturating_sub(LOOK));
            if self.end.is_some_and(|end| Instant::now() >= end) {
                let message = format!("the budget of {} seconds is used up", self.limits.time.as_secs_f64());
                return Err(Error { fault: Fault::Time, message });
            }
        }
        Ok(())
    }

    /// Takes the bytes of a value that is kept.
    pub(super) fn keep(&self, bytes: u64) -> Res<()> {
        match self.bytes.get().checked_sub(bytes) {
            Some(left) => {
                self.bytes.set(left);
                Ok(())
            }
            None => {
                let message = format!("another {bytes} bytes do not fit into the budget of memory");
                Err(Error { fault: Fault::Memory, message })
            }
        }
    }

    /// Gives back the bytes of a value that is no longer kept.
    pub(super) fn free(&self, bytes: u64) {
        self.bytes.set(self.bytes.get().saturating_add(bytes));
    }
}
