//! A weight as a matrix: the axis of the blocks is the columns, and each combination of the other indices is a row.

use std::ops::Range;

use super::super::super::{Error, LazyTensor};
use super::super::cast::load;
use super::Layout;

/// Reads elements of a tensor, all transforms included.
pub(in crate::tensor) type Read<'a> =
    dyn FnMut(&LazyTensor, Range<u64>, &mut Vec<u8>) -> Result<(), Error> + 'a;

/// The weight, and how to read it.
pub(super) struct Matrix<'a, 'r> {
    pub(super) input: &'a LazyTensor,
    layout: Layout,
    read: &'a mut Read<'r>,
    bytes: Vec<u8>,
    /// See [`LazyTensor::is_open`].
    pub(super) is_open: bool,
}

impl<'a, 'r> Matrix<'a, 'r> {
    /// `bytes` is memory that is used again.
    pub(super) fn new(input: &'a LazyTensor, layout: Layout, read: &'a mut Read<'r>, bytes: Vec<u8>) -> Self {
        Self { input, layout, read, bytes, is_open: input.is_open() }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Reads a rectangle, row by row.
    pub(super) fn rectangle(
        &mut self,
        rows: &Range<u64>,
        columns: &Range<u64>,
        values: &mut Vec<f32>,
    ) -> Result<(), Error> {
        let Layout { extent, inner, .. } = self.layout;
        values.clear();
        values.reserve_exact(((rows.end - rows.start) * (columns.end - columns.start)) as usize);
        if inner == 1 && *columns == (0..extent) {
            return self.append(self.input, rows.start * extent..rows.end * extent, values);
        }
        let mut row = rows.start;
        while row < rows.end {
            let outer = row / inner;
            let end = if inner == 1 { rows.end } else { rows.end.min((outer + 1) * inner) };
            let part = row..end;
            match self.view(&part, columns) {
                Some(view) => {
                    let count = (end - row) * (columns.end - columns.start);
                    self.append(&view, 0..count, values)?;
                }
                None => self.by_runs(&part, columns, values)?,
            }
            row = end;
        }
        Ok(())
    }

    /// Returns the rectangle as a view, which is read in the order of the source; `None` after transforms that
    /// require an order, and for sources without random access.
    fn view(&self, rows: &Range<u64>, columns: &Range<u64>) -> Option<LazyTensor> {
        let Layout { outer, extent, inner, .. } = self.layout;
        if !self.is_open {
            return None;
        }
        let cut = |matrix: LazyTensor, rows: Range<u64>| {
            matrix.slice(0, rows.start, rows.end, 1)?.slice(1, columns.start, columns.end, 1)
        };
        if inner == 1 {
            let matrix = if self.input.shape.len() == 2 {
                self.input.clone()
            } else {
                self.input.reshape(&[outer, extent])?
            };
            return cut(matrix, rows.clone());
        }
        let at = rows.start / inner;
        let slab = if self.input.shape.len() == 2 {
            self.input.clone()
        } else {
            let slabs = self.input.reshape(&[outer, extent, inner])?;
            slabs.slice(0, at, at + 1, 1)?.reshape(&[extent, inner])?
        };
        cut(slab.permute(&[1, 0])?, rows.start - at * inner..rows.end - at * inner)
    }

    /// Reads the rectangle in runs that follow each other in the weight.
    fn by_runs(
        &mut self,
        rows: &Range<u64>,
        columns: &Range<u64>,
        values: &mut Vec<f32>,
    ) -> Result<(), Error> {
        let Layout { extent, inner, .. } = self.layout;
        if inner == 1 {
            for row in rows.clone() {
                let start = row * extent;
                self.append(self.input, start + columns.start..start + columns.end, values)?;
            }
            return Ok(());
        }
        let (first, width) = (values.len(), (columns.end - columns.start) as usize);
        values.resize(first + (rows.end - rows.start) as usize * width, 0.0);
        let (outer, start) = (rows.start / inner, rows.start % inner);
        let mut run = Vec::new();
        for (index, column) in columns.clone().enumerate() {
            let from = (outer * extent + column) * inner + start;
            run.clear();
            self.append(self.input, from..from + (rows.end - rows.start), &mut run)?;
            let places = values.iter_mut().skip(first + index).step_by(width);
            places.zip(&run).for_each(|(place, value)| *place = *value);
        }
        Ok(())
    }

    fn append(&mut self, tensor: &LazyTensor, range: Range<u64>, values: &mut Vec<f32>) -> Result<(), Error> {
        let start = values.len();
        values.resize(start + (range.end - range.start) as usize, 0.0);
        (self.read)(tensor, range, &mut self.bytes)?;
        load(tensor.dtype, &self.bytes, values.get_mut(start..).unwrap_or_default());
        Ok(())
    }
}
