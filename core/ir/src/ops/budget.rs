//! Bounds on what an evaluation may use, so that a hostile model is an error and not a hang.

use std::cell::Cell;

use super::{Error, Fault, Res};

/// What an evaluation may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the values that are alive at once, together with one result under construction.
    pub bytes: u64,
    /// Elements computed and products summed, over the whole run. A node counts at least one.
    pub steps: u64,
}

impl Default for Limits {
    /// 4 GiB and some minutes.
    fn default() -> Self {
        Self { bytes: 4 << 30, steps: 200_000_000_000 }
    }
}

/// Bytes that one element of a result under construction takes at most: [`Elements`](super::Elements) of
/// complex numbers or wide integers.
const WIDEST: u64 = 16;

/// What is left of the [`Limits`].
#[derive(Debug)]
pub struct Budget {
    bytes: Cell<u64>,
    steps: Cell<u64>,
}

impl Budget {
    /// Nothing is used yet.
    pub fn new(limits: Limits) -> Self {
        Self { bytes: Cell::new(limits.bytes), steps: Cell::new(limits.steps) }
    }

    /// The number of elements of a result of this shape. Ask before making room for it.
    ///
    /// # Errors
    /// [`Fault::Memory`] when it does not fit, [`Fault::Steps`] when no steps are left to make it.
    pub fn count(&self, shape: &[usize]) -> Res<usize> {
        let count = if shape.contains(&0) {
            Some(0)
        } else {
            shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d))
        };
        let fits = |n: &usize| (*n as u64).checked_mul(WIDEST).is_some_and(|bytes| bytes <= self.bytes.get());
        let Some(count) = count.filter(fits) else {
            let message = format!("a result of shape {shape:?} does not fit into the budget of memory");
            return Err(Error { fault: Fault::Memory, message });
        };
        self.spend(count as u64)?;
        Ok(count)
    }

    /// Uses `steps` of what is left; at least one.
    ///
    /// # Errors
    /// [`Fault::Steps`] when there are fewer.
    pub fn spend(&self, steps: u64) -> Res<()> {
        match self.steps.get().checked_sub(steps.max(1)) {
            Some(left) => {
                self.steps.set(left);
                Ok(())
            }
            None => Err(Error { fault: Fault::Steps, message: "the budget of steps is used up".to_owned() }),
        }
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
