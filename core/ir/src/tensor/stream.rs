//! Evaluates a tensor piece by piece, into a sink, within a memory budget.
//!
//! The result is cut at granules. As many pieces as there are threads are evaluated at a time, while the sink takes
//! earlier ones; it gets them in order, so the result does not depend on threads.

use std::io;
use std::ops::Range;

use rayon::prelude::*;

use super::cost::{PIECE, cost, is_strided, least, preferred, smallest, strided_piece};
use super::evaluate::{Scratch, evaluate};
use super::joined::Extent;
use super::transform::quantise::{self, pack};
use super::{Error, LazyTensor, Source, threads};
use crate::trace;

/// A consumer of the bytes of a tensor, in order.
pub type Sink<'a> = dyn FnMut(&[u8]) -> io::Result<()> + Send + 'a;

/// Buffers reused from tensor to tensor: an allocator keeps freed memory, and would hold more than the budget.
#[derive(Default)]
pub struct Workspace {
    /// The transforms that it was used for: others need buffers of other sizes.
    form: u64,
    made: Vec<Scratch>,
    making: Vec<Scratch>,
}

impl Workspace {
    /// Buffers for `threads` pieces of `tensor`, with nothing left in them of another one.
    fn scratch(&mut self, tensor: &LazyTensor, threads: usize, tile: u64) -> [&mut Vec<Scratch>; 2] {
        let form = Extent::from_tensor(tensor).form;
        if form != self.form {
            *self = Self { form, ..Self::default() };
        }
        for all in [&mut self.made, &mut self.making] {
            all.resize_with(threads, Scratch::default);
            for scratch in all.iter_mut() {
                scratch.begin(tile);
            }
        }
        [&mut self.made, &mut self.making]
    }
}

impl LazyTensor {
    /// Hands bytes `range` of the dense form to `sink`, in pieces and in order, holding at most about
    /// `budget` bytes at a time.
    ///
    /// # Errors
    /// If the range is outside of the tensor, the source is shorter than the view, a value does not fit a
    /// transform, or the sink fails. Bytes sunk before the error are not taken back.
    pub fn stream(&self, range: Range<u64>, budget: usize, sink: &mut Sink<'_>) -> Result<(), Error> {
        self.stream_in(&mut Workspace::default(), range, budget, sink)
    }

    /// The same in memory that was used for another tensor.
    ///
    /// # Errors
    /// Those of [`stream`](Self::stream).
    pub fn stream_in(
        &self,
        workspace: &mut Workspace,
        range: Range<u64>,
        budget: usize,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        self.check()?;
        if range.start > range.end || self.byte_len().is_none_or(|len| range.end > len) {
            return Err(Error::Short);
        }
        if range.is_empty() {
            return Ok(());
        }
        let pieces = Pieces::new(self, &range, budget as u64)?;
        let [made, making] = workspace.scratch(self, pieces.threads(), pieces.tile);
        let mut next = pieces.all.start;
        let mut full = pieces.make(made, &mut next)?;
        while next < pieces.all.end {
            let ready = made.get(..full).unwrap_or_default();
            let (taken, filled) =
                threads::join(|| pieces.sink(ready, sink), || pieces.make(making, &mut next));
            taken?;
            full = filled?;
            std::mem::swap(made, making);
        }
        pieces.sink(made.get(..full).unwrap_or_default(), sink)
    }

    /// The anonymous memory in bytes that the smallest piece of any of its [`parts`](Self::parts) takes; 0
    /// when the bytes can be copied as they are.
    pub fn least_memory(&self) -> u64 {
        let least = |part: &Self| match &part.source {
            Source::Derived(_) | Source::Joined(_) => least(part),
            _ => 0,
        };
        self.parts().into_iter().map(least).max().unwrap_or(0)
    }
}

/// A range of bytes, cut into pieces.
struct Pieces<'a> {
    tensor: &'a LazyTensor,
    /// The elements of the pieces, one byte each where they are packed.
    all: Range<u64>,
    /// Elements of a piece.
    size: u64,
    /// How many pieces fit into the budget at a time, twice.
    parallel: u64,
    /// Elements of a quantised weight that are looked at together.
    tile: u64,
    /// The bytes that are wanted.
    bytes: Range<u64>,
}

impl<'a> Pieces<'a> {
    fn new(tensor: &'a LazyTensor, bytes: &Range<u64>, budget: u64) -> Result<Self, Error> {
        let bits = u64::from(tensor.dtype.bits());
        let total = tensor.elements().ok_or(Error::Short)?;
        let unit = smallest(tensor);
        let needed = least(tensor);
        if needed > budget {
            return Err(Error::Budget { needed, budget });
        }
        let strided = is_strided(tensor);
        let wanted = if strided { strided_piece(tensor) } else { PIECE }.min(budget / 4);
        let tile = [strided, false].map(quantise::tile);
        let tile = tile.into_iter().find(|tile| cost(tensor, unit.min(total), *tile) <= wanted);
        let tile = tile.unwrap_or_else(|| quantise::tile(false));
        // The fixed cost of a piece must not make the piece smaller.
        let limit = wanted.max((needed / 2).saturating_add(PIECE).min(budget / 2));
        let fits = |elements: u64| cost(tensor, elements, tile) <= limit;
        let whole = preferred(tensor).max(1);
        let whole = whole.checked_next_multiple_of(unit).filter(|whole| fits(*whole)).unwrap_or(unit);
        let mut size = whole;
        while size < total && fits(size.saturating_mul(2)) {
            size = size.saturating_mul(2);
        }
        let parallel = (budget / 2 / cost(tensor, size.min(total), tile).max(1)).max(1);
        let first = bytes.start.saturating_mul(8) / bits;
        let last = bytes.end.saturating_mul(8).div_ceil(bits);
        // Half a block cannot be made.
        let last = last.checked_next_multiple_of(unit).unwrap_or(total).min(total);
        Ok(Self { tensor, all: first / size * size..last, size, parallel, tile, bytes: bytes.clone() })
    }

    /// How many pieces to make at a time: a single one is not worth a thread.
    fn threads(&self) -> usize {
        let pieces = (self.all.end - self.all.start).div_ceil(self.size);
        if pieces < 2 {
            return 1;
        }
        pieces.min(self.parallel).min(threads::count() as u64) as usize
    }

    /// Fills as many buffers as there are pieces from `next` on; returns how many.
    fn make(&self, buffers: &mut [Scratch], next: &mut u64) -> Result<usize, Error> {
        let start = *next;
        let pieces = (self.all.end - start).div_ceil(self.size).min(buffers.len() as u64) as usize;
        let piece = |(index, scratch): (usize, &mut Scratch)| {
            let _span = trace::span("write", "making a piece");
            let first = start + index as u64 * self.size;
            let range = first..self.all.end.min(first + self.size);
            let mut result = std::mem::take(&mut scratch.result);
            let made = evaluate(self.tensor, range, scratch, &mut result);
            if is_packed(self.tensor) {
                pack(self.tensor.dtype.bits(), &mut result);
            }
            scratch.start = first * u64::from(self.tensor.dtype.bits()) / 8;
            scratch.result = result;
            made
        };
        match buffers.get_mut(..pieces).unwrap_or_default() {
            [scratch] => piece((0, scratch))?,
            buffers => {
                let trace = trace::current();
                let shared = |part| trace::within(trace.as_ref(), || piece(part));
                buffers.par_iter_mut().enumerate().try_for_each(shared)?;
            }
        }
        *next = self.all.end.min(start + pieces as u64 * self.size);
        Ok(pieces)
    }

    /// Hands on the results of `buffers`, cut to the bytes that are wanted.
    fn sink(&self, buffers: &[Scratch], sink: &mut Sink<'_>) -> Result<(), Error> {
        for Scratch { result, start, .. } in buffers {
            let from = self.bytes.start.saturating_sub(*start) as usize;
            let to = self.bytes.end.saturating_sub(*start).min(result.len() as u64) as usize;
            sink(result.get(from..to).unwrap_or_default())?;
        }
        Ok(())
    }
}

/// Whether codes are made one byte each and packed afterwards.
fn is_packed(tensor: &LazyTensor) -> bool {
    tensor.dtype.bits() < 8 && matches!(tensor.source, Source::Derived(_))
}
