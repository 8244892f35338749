//! Computes the parts of a quantized form, rectangle by rectangle.

use std::ops::Range;

use super::super::super::{Error, LazyTensor};
use super::geometry::{Grid, Stretch, length, stretches};
use super::matrix::{Matrix, Read};
use super::nearest::{self, Bounds, Step};
use super::{Layout, Quantise, QuantisedMut, QuantiserGranule, Rectangle, SharedQuantiser, pack};

/// Elements that are looked at together: a processor's cache holds them.
const TILE: u64 = 1 << 16;

/// The same where a view reads across the source: longer stretches of it are used at a time.
const STRIDED_TILE: u64 = 1 << 20;

/// Rows of a rectangle at least, where there are as many.
const ROWS: u64 = 64;

/// Elements to look at together.
pub(in crate::tensor) fn tile(is_strided: bool) -> u64 {
    if is_strided { STRIDED_TILE } else { TILE }
}

/// State that one piece leaves for the next one.
#[derive(Default)]
pub(in crate::tensor) struct Carry {
    /// Memory that is used again.
    pub(super) buffers: Buffers,
    /// The steps of the blocks that it ended in.
    /// The block of all rows that lie side by side, and theirs: `(outer, block)`.
    slab: Option<((u64, u64), Vec<Step>)>,
}

impl Carry {
    /// Keeps the memory only: another tensor comes next.
    pub(in crate::tensor) fn forget(&mut self) {
        self.slab = None;
    }
}

/// Computes parts of a quantized form.
pub(super) struct Maker<'a, 'r> {
    form: &'a Quantise,
    layout: Layout,
    matrix: Matrix<'a, 'r>,
    tile: u64,
    values: Vec<f32>,
    /// Of the rectangle that was solved last: `[rows, blocks]`.
    steps: Vec<Step>,
    /// The same: `[rows, columns]`.
    codes: Vec<u8>,
    /// The choices of a quantizer for it.
    chosen: Chosen,
}

/// The buffers of a [`Maker`].
#[derive(Default)]
pub(super) struct Buffers {
    bytes: Vec<u8>,
    values: Vec<f32>,
    steps: Vec<Step>,
    codes: Vec<u8>,
    chosen: Chosen,
}

#[derive(Default)]
struct Chosen {
    scales: Vec<f32>,
    zeros: Vec<i32>,
    codes: Vec<i32>,
}

/// Without room for more, which a budget knows nothing about.
fn resize<T: Copy + Default>(items: &mut Vec<T>, len: usize) {
    items.reserve_exact(len.saturating_sub(items.len()));
    items.resize(len, T::default());
}

impl<'a, 'r> Maker<'a, 'r> {
    pub(super) fn new(
        form: &'a Quantise,
        input: &'a LazyTensor,
        layout: Layout,
        read: &'a mut Read<'r>,
        (tile, buffers): (u64, Buffers),
    ) -> Self {
        let Buffers { bytes, values, steps, codes, chosen } = buffers;
        let matrix = Matrix::new(input, layout, read, bytes);
        Self { form, layout, matrix, tile, values, steps, codes, chosen }
    }

    pub(super) fn into_buffers(self) -> Buffers {
        let Self { values, steps, codes, chosen, .. } = self;
        Buffers { bytes: self.matrix.into_bytes(), values, steps, codes, chosen }
    }

    /// Makes codes `range`, in the order of the weight.
    pub(super) fn codes(&mut self, range: Range<u64>, kept: &mut Carry, out: &mut [u8]) -> Result<(), Error> {
        let Layout { extent, inner, size, .. } = self.layout;
        let mut out = out;
        for stretch in stretches(range, extent, inner) {
            let (head, tail) = std::mem::take(&mut out).split_at_mut(stretch.len());
            out = tail;
            let seen = self.form.seen(&stretch.places, size, extent);
            if self.form.quantiser.is_none() && (seen != stretch.places || size > self.tile) {
                self.codes_in_blocks(&stretch, kept, head)?;
                continue;
            }
            for (rows, columns) in self.rectangles(&stretch.rows, &seen) {
                self.solve(&rows, &columns, true)?;
                self.put(&stretch, &rows, &columns, head).ok_or(Error::Short)?;
            }
        }
        Ok(())
    }

    /// Makes the codes of a stretch that has parts of blocks: their steps are found first.
    fn codes_in_blocks(&mut self, stretch: &Stretch, kept: &mut Carry, out: &mut [u8]) -> Result<(), Error> {
        let Layout { inner, .. } = self.layout;
        for outer in stretch.rows.start / inner..stretch.rows.end.div_ceil(inner) {
            let slab = outer * inner..(outer + 1) * inner;
            let rows = slab.start.max(stretch.rows.start)..slab.end.min(stretch.rows.end);
            for block in self.layout.blocks(&stretch.places) {
                if kept.slab.as_ref().is_none_or(|(known, _)| *known != (outer, block)) {
                    kept.slab = Some(((outer, block), self.slab_steps(&slab, block)?));
                }
                let steps = kept.slab.as_ref().map(|(_, steps)| steps.as_slice()).unwrap_or_default();
                let columns = self.layout.columns(&(block..block + 1));
                let columns = columns.start.max(stretch.places.start)..columns.end.min(stretch.places.end);
                for (rows, columns) in self.tiles(&rows, &columns) {
                    self.matrix.rectangle(&rows, &columns, &mut self.values)?;
                    resize(&mut self.codes, self.values.len());
                    let width = length(&columns) as usize;
                    let steps = steps.iter().skip((rows.start - slab.start) as usize);
                    let lines = self.values.chunks(width).zip(self.codes.chunks_mut(width));
                    for ((values, codes), step) in lines.zip(steps) {
                        nearest::codes(self.form, values, *step, codes);
                    }
                    self.put(stretch, &rows, &columns, out).ok_or(Error::Short)?;
                }
            }
        }
        Ok(())
    }

    /// Copies the results of a rectangle to their positions in the stretch; `None` if the stretch ends before.
    fn put(&self, stretch: &Stretch, rows: &Range<u64>, columns: &Range<u64>, out: &mut [u8]) -> Option<()> {
        let places = columns.start.max(stretch.places.start)..columns.end.min(stretch.places.end);
        let skipped = (places.start - columns.start) as usize;
        let first = (places.start - stretch.places.start) as usize;
        let (width, count) = (length(columns) as usize, length(&places) as usize);
        let row = (rows.start - stretch.rows.start) as usize;
        if self.layout.inner == 1 {
            let line = length(&stretch.places) as usize;
            let lines = out.chunks_mut(line).skip(row).zip(self.codes.chunks(width));
            for (out, codes) in lines {
                out.get_mut(first..first + count)?.copy_from_slice(codes.get(skipped..skipped + count)?);
            }
            return Some(());
        }
        let line = length(&stretch.rows) as usize;
        for (index, out) in out.chunks_mut(line).skip(first).take(count).enumerate() {
            let codes = self.codes.iter().skip(skipped + index).step_by(width);
            out.get_mut(row..)?.iter_mut().zip(codes).for_each(|(place, code)| *place = *code);
        }
        Some(())
    }

    /// Yields the steps of blocks `range`, in the order of the scales, each with its index in the range.
    pub(super) fn steps(
        &mut self,
        range: Range<u64>,
        take: &mut dyn FnMut(usize, Step),
    ) -> Result<(), Error> {
        let Layout { extent, inner, size, count, .. } = self.layout;
        let mut start = 0;
        for stretch in stretches(range, count, inner) {
            let wide = (length(&stretch.rows) as usize, length(&stretch.places) as usize);
            let at = |row: u64, block: u64| {
                let (row, block) =
                    ((row - stretch.rows.start) as usize, (block - stretch.places.start) as usize);
                start + if inner == 1 { row * wide.1 + block } else { block * wide.0 + row }
            };
            if self.form.quantiser.is_none() && size > self.tile {
                for block in stretch.places.clone() {
                    let steps = self.slab_steps(&stretch.rows, block)?;
                    steps
                        .iter()
                        .zip(stretch.rows.clone())
                        .for_each(|(step, row)| take(at(row, block), *step));
                }
            } else {
                let seen = self.form.seen(&self.layout.columns(&stretch.places), size, extent);
                for (rows, columns) in self.rectangles(&stretch.rows, &seen) {
                    self.solve(&rows, &columns, false)?;
                    let blocks = self.layout.blocks(&columns);
                    let mut steps = self.steps.iter();
                    for row in rows {
                        for (block, step) in blocks.clone().zip(&mut steps) {
                            if stretch.places.contains(&block) {
                                take(at(row, block), *step);
                            }
                        }
                    }
                }
            }
            start += stretch.len();
        }
        Ok(())
    }

    /// Makes zero points `range`, in the order of the scales.
    pub(super) fn zero_points(&mut self, range: Range<u64>, out: &mut [u8]) -> Result<(), Error> {
        self.steps(range, &mut |at, step| {
            if let Some(place) = out.get_mut(at) {
                *place = step.zero as u8;
            }
        })
    }

    /// The steps of block number `block` of `rows`, however long it is.
    fn slab_steps(&mut self, rows: &Range<u64>, block: u64) -> Result<Vec<Step>, Error> {
        let mut bounds = vec![Bounds::default(); length(rows) as usize];
        let columns = self.layout.columns(&(block..block + 1));
        for (part, columns) in self.tiles(rows, &columns) {
            self.matrix.rectangle(&part, &columns, &mut self.values)?;
            let own = bounds.iter_mut().skip((part.start - rows.start) as usize);
            for (bounds, values) in own.zip(self.values.chunks(length(&columns) as usize)) {
                bounds.widen(values)?;
            }
        }
        let dtype = self.matrix.input.dtype;
        Ok(bounds.into_iter().map(|bounds| bounds.step(self.form, dtype)).collect())
    }

    /// `range` counts bytes, and covers whole blocks.
    pub(super) fn matmul_codes(&mut self, range: Range<u64>, out: &mut [u8]) -> Result<(), Error> {
        let Layout { extent, size, count, .. } = self.layout;
        let bits = self.form.bits.count();
        // In the table, every block is as long as the others.
        let full = self.form.blocks.size as usize;
        let bytes = full * bits as usize / 8;
        let blocks = range.start / bytes as u64..range.end / bytes as u64;
        let (mut out, mut packed) = (out, Vec::new());
        for stretch in stretches(blocks, count, 1) {
            let (head, tail) = std::mem::take(&mut out).split_at_mut(stretch.len() * bytes);
            out = tail;
            let line = length(&stretch.places) as usize * bytes;
            let seen = self.form.seen(&self.layout.columns(&stretch.places), size, extent);
            for (rows, columns) in self.rectangles(&stretch.rows, &seen) {
                self.solve(&rows, &columns, true)?;
                let own = self.layout.blocks(&columns);
                let wanted = own.start.max(stretch.places.start)..own.end.min(stretch.places.end);
                let skipped = (wanted.start - own.start) as usize;
                let first = (wanted.start - stretch.places.start) as usize * bytes;
                let row = (rows.start - stretch.rows.start) as usize;
                let lines = self.codes.chunks(length(&columns) as usize);
                let steps = self.steps.chunks(length(&own) as usize);
                for ((codes, steps), out) in lines.zip(steps).zip(head.chunks_mut(line).skip(row)) {
                    packed.clear();
                    let blocks = codes.chunks(size as usize).zip(steps);
                    for (codes, step) in blocks.skip(skipped).take(length(&wanted) as usize) {
                        packed.extend(codes.iter().map(|code| self.unsigned(*code)));
                        packed.resize(packed.len() + full - codes.len(), self.unsigned(step.zero as u8));
                    }
                    pack(bits, &mut packed);
                    let places = out.get_mut(first..first + packed.len()).ok_or(Error::Short)?;
                    places.copy_from_slice(&packed);
                }
            }
        }
        Ok(())
    }

    /// `range` counts bytes, and covers whole rows.
    pub(super) fn matmul_zero_points(&mut self, range: Range<u64>, out: &mut [u8]) -> Result<(), Error> {
        let bits = self.form.bits.count();
        let count = self.layout.count;
        let bytes = (count * u64::from(bits)).div_ceil(8);
        let rows = range.start / bytes..range.end / bytes;
        let mut zeros = vec![0; (length(&rows) * count) as usize];
        self.steps(rows.start * count..rows.end * count, &mut |at, step| {
            if let Some(zero) = zeros.get_mut(at) {
                *zero = step.zero as u8;
            }
        })?;
        for (zeros, out) in zeros.chunks(count as usize).zip(out.chunks_mut(bytes as usize)) {
            let mut packed: Vec<u8> = zeros.iter().map(|zero| self.unsigned(*zero)).collect();
            pack(bits, &mut packed);
            out.copy_from_slice(&packed);
        }
        Ok(())
    }

    /// A code or a zero point as `MatMulNBits` counts it, from 0.
    fn unsigned(&self, code: u8) -> u8 {
        let middle = if self.form.symmetric { 1 << (self.form.bits.count() - 1) } else { 0 };
        code.wrapping_add(middle)
    }

    /// Finds the steps of a rectangle of whole blocks, and the codes if they are wanted.
    fn solve(&mut self, rows: &Range<u64>, columns: &Range<u64>, codes: bool) -> Result<(), Error> {
        self.matrix.rectangle(rows, columns, &mut self.values)?;
        let (form, dtype) = (self.form, self.matrix.input.dtype);
        let (size, width) = (self.layout.size as usize, length(columns) as usize);
        self.steps.clear();
        resize(&mut self.codes, if codes { self.values.len() } else { 0 });
        if let Some(quantiser) = &form.quantiser {
            return self.choose(quantiser, rows, columns);
        }
        let mut made = self.codes.chunks_mut(width);
        for line in self.values.chunks(width) {
            let mut made = made.next().map(|line| line.chunks_mut(size));
            for values in line.chunks(size) {
                let mut bounds = Bounds::default();
                bounds.widen(values)?;
                let step = bounds.step(form, dtype);
                self.steps.push(step);
                if let Some(codes) = made.as_mut().and_then(Iterator::next) {
                    nearest::codes(form, values, step, codes);
                }
            }
        }
        Ok(())
    }

    /// Lets somebody else find the steps and the codes of a rectangle.
    fn choose(
        &mut self,
        quantiser: &SharedQuantiser,
        rows: &Range<u64>,
        columns: &Range<u64>,
    ) -> Result<(), Error> {
        let Quantise { bits, symmetric, .. } = *self.form;
        let (size, dtype) = (self.layout.size, self.matrix.input.dtype);
        let at =
            Rectangle { rows: rows.clone(), columns: columns.clone(), block: size, bits, symmetric, dtype };
        let blocks = (length(rows) * length(&self.layout.blocks(columns))) as usize;
        let Chosen { scales, zeros, codes } = &mut self.chosen;
        scales.resize(blocks, 0.0);
        zeros.resize(blocks, 0);
        resize(codes, self.values.len());
        quantiser.quantise(&at, &self.values, &mut QuantisedMut { scales, zeros, codes })?;
        self.steps.extend(scales.iter().zip(zeros).map(|(scale, zero)| Step { scale: *scale, zero: *zero }));
        self.codes.clear();
        self.codes.extend(codes.iter().map(|code| *code as u8));
        Ok(())
    }

    /// Cuts a rectangle of whole blocks into smaller ones, of whole rows where a scheme has to see them.
    fn rectangles(&self, rows: &Range<u64>, columns: &Range<u64>) -> Grid {
        let (size, width) = (self.layout.size, length(columns));
        let all = self.form.quantiser.as_ref().is_some_and(|q| q.granule() == QuantiserGranule::Row);
        let side = self.tile / length(rows).clamp(1, self.side());
        let columns_of_one = if all || width <= side { width } else { (side / size * size).max(size) };
        Grid::new(rows, columns, self.together(), columns_of_one)
    }

    /// Elements of a rectangle.
    fn together(&self) -> u64 {
        if self.matrix.is_open { self.tile } else { self.tile.max(self.layout.slab()) }
    }

    /// Rows of a rectangle at least, where there are as many: all that lie side by side when the weight
    /// is read in its own order only.
    fn side(&self) -> u64 {
        if self.matrix.is_open { ROWS } else { ROWS.max(self.layout.inner) }
    }

    /// Cuts a rectangle into smaller ones, blocks or not.
    fn tiles(&self, rows: &Range<u64>, columns: &Range<u64>) -> Grid {
        let side = self.tile / length(rows).clamp(1, self.side());
        Grid::new(rows, columns, self.together(), length(columns).min(side.max(1)))
    }
}
