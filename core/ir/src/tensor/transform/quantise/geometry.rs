//! Decides which parts of a result, and of the weight, are computed together.

use std::ops::Range;

/// Consecutive positions of a result: some rows, and some positions along the axis of the blocks.
pub(super) struct Stretch {
    pub(super) rows: Range<u64>,
    pub(super) places: Range<u64>,
}

impl Stretch {
    pub(super) fn len(&self) -> usize {
        (length(&self.rows) * length(&self.places)) as usize
    }
}

pub(super) fn length(range: &Range<u64>) -> u64 {
    range.end - range.start
}

/// Cuts elements `range` of `[outer, extent, inner]` into stretches.
pub(super) fn stretches(range: Range<u64>, extent: u64, inner: u64) -> impl Iterator<Item = Stretch> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        if at >= range.end {
            return None;
        }
        let left = range.end - at;
        let (line, column) = (at / inner, at % inner);
        let (outer, place) = (line / extent, line % extent);
        let first = outer * inner;
        let stretch = if inner == 1 && place == 0 && left >= extent {
            Stretch { rows: outer..outer + left / extent, places: 0..extent }
        } else if column > 0 || left < inner {
            let end = inner.min(column + left);
            Stretch { rows: first + column..first + end, places: place..place + 1 }
        } else {
            Stretch { rows: first..first + inner, places: place..extent.min(place + left / inner) }
        };
        at += stretch.len() as u64;
        Some(stretch)
    })
}

/// The rectangles that a larger one is cut into.
pub(super) struct Grid {
    rows: Range<u64>,
    columns: Range<u64>,
    /// Rows and columns of one.
    size: (u64, u64),
    /// Where the next one starts.
    next: (u64, u64),
}

impl Grid {
    /// Rectangles of `width` columns and about `tile` elements.
    pub(super) fn new(rows: &Range<u64>, columns: &Range<u64>, tile: u64, width: u64) -> Self {
        let width = width.max(1);
        let size = ((tile / width).max(1), width);
        Self { rows: rows.clone(), columns: columns.clone(), size, next: (rows.start, columns.start) }
    }
}

impl Iterator for Grid {
    type Item = (Range<u64>, Range<u64>);

    fn next(&mut self) -> Option<Self::Item> {
        let (row, column) = self.next;
        if row >= self.rows.end || column >= self.columns.end {
            return None;
        }
        let (last_row, last_column) =
            (self.rows.end.min(row + self.size.0), self.columns.end.min(column + self.size.1));
        self.next =
            if last_column < self.columns.end { (row, last_column) } else { (last_row, self.columns.start) };
        Some((row..last_row, column..last_column))
    }
}
