//! Reading elements of strided views in row-major order.
//!
//! A range of elements is a few boxes: hyperrectangles that are contiguous in the result. A box is
//! copied in runs where its innermost axis is contiguous, else in square tiles of that axis and the one
//! with the smallest step, so that every cache line of the source is used while it is there.

use std::fs::File;
use std::ops::Range;

use super::{Error, LazyTensor, Source};

/// Elements along each side of a tile.
const TILE: usize = 32;

/// An axis of a box.
#[derive(Clone, Copy, Debug)]
struct Axis {
    extent: usize,
    /// Elements to step in the source.
    from: usize,
    /// Elements to step in the result.
    to: usize,
}

/// Reads elements `range` of a tensor that passed [`LazyTensor::check`] and is not derived. `out` has
/// room for exactly these, packed ones as they are stored.
pub(super) fn gather(tensor: &LazyTensor, range: Range<u64>, out: &mut [u8]) -> Result<(), Error> {
    let bits = u64::from(tensor.dtype.bits());
    let Some(strides) = &tensor.strides else {
        return read_at(&tensor.source, (tensor.offset + range.start) * bits / 8, out);
    };
    let size = (bits / 8) as usize;
    let bytes = match &tensor.source {
        Source::Mapped { file, offset, len } => {
            // Reading a mapping of truncated pages faults; mostly, a truncated file is noticed before.
            if file.file().metadata()?.len() < offset + len {
                return Err(Error::Truncated);
            }
            tensor.source.bytes()
        }
        Source::Lent(_) | Source::Inline(_) => tensor.source.bytes(),
        other => return one_by_one(tensor, other, strides, range, size, out),
    };
    let start = tensor.offset as usize * size;
    let bytes = bytes.get(start..).ok_or(Error::Short)?;
    let copied = match size {
        1 => boxes::<1>(&tensor.shape, strides, range, bytes, out),
        2 => boxes::<2>(&tensor.shape, strides, range, bytes, out),
        4 => boxes::<4>(&tensor.shape, strides, range, bytes, out),
        8 => boxes::<8>(&tensor.shape, strides, range, bytes, out),
        16 => boxes::<16>(&tensor.shape, strides, range, bytes, out),
        _ => return Err(Error::View("its element type has no fixed size")),
    };
    copied.ok_or(Error::Short)
}

/// Fills `out` with the bytes of the source from `start` on.
fn read_at(source: &Source, start: u64, out: &mut [u8]) -> Result<(), Error> {
    match source {
        // The file, not the mapping: one that was cut short is an error then, and nothing faults.
        Source::Mapped { file, offset, .. } => {
            let mut done = 0;
            while done < out.len() {
                let rest = out.get_mut(done..).unwrap_or_default();
                match read_some(file.file(), rest, offset + start + done as u64)? {
                    0 => return Err(Error::Truncated),
                    read => done += read,
                }
            }
            Ok(())
        }
        Source::Lent(_) | Source::Inline(_) => {
            let start = start as usize;
            out.copy_from_slice(source.bytes().get(start..start + out.len()).ok_or(Error::Short)?);
            Ok(())
        }
        Source::Produced(producer) => producer.fill(start, out),
        Source::Unbound(unbound) => Err(Error::Unbound(unbound.name.clone())),
        Source::Derived(_) | Source::Joined(_) => Err(Error::View("it is a view of a transform")),
    }
}

#[cfg(unix)]
fn read_some(file: &File, out: &mut [u8], at: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, out, at)
}

#[cfg(windows)]
fn read_some(file: &File, out: &mut [u8], at: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, out, at)
}

/// For sources that cannot be addressed: element by element.
fn one_by_one(
    tensor: &LazyTensor,
    source: &Source,
    strides: &[u64],
    range: Range<u64>,
    size: usize,
    out: &mut [u8],
) -> Result<(), Error> {
    for (index, element) in range.zip(out.chunks_exact_mut(size)) {
        let (mut rest, mut at) = (index, tensor.offset);
        for (extent, stride) in tensor.shape.iter().zip(strides).rev() {
            at += rest % extent * stride;
            rest /= extent;
        }
        read_at(source, at * size as u64, element)?;
    }
    Ok(())
}

/// Copies elements `range`, cut into boxes; `None` where the source or the result ends before.
fn boxes<const N: usize>(
    shape: &[u64],
    strides: &[u64],
    range: Range<u64>,
    bytes: &[u8],
    out: &mut [u8],
) -> Option<()> {
    let (source, _) = bytes.as_chunks::<N>();
    let (mut result, _) = out.as_chunks_mut::<N>();
    let dims: Vec<(u64, u64)> = shape.iter().copied().zip(strides.iter().copied()).collect();
    let mut at = 0usize;
    let mut first = range.start;
    // From the outermost axis inwards while the range starts or ends inside of a row of it.
    while first < range.end {
        // The longest suffix of axes that starts here and fits.
        let (mut inner, mut outer) = (1u64, dims.as_slice());
        while let [rest @ .., (extent, _)] = outer {
            let grown = inner * extent;
            if !first.is_multiple_of(grown) || first + grown > range.end {
                break;
            }
            (inner, outer) = (grown, rest);
        }
        // As many rows of it as there are, up to the end of the axis outside of it.
        let (mut rows, mut origin, mut rest) = (1, 0usize, first / inner);
        let mut axes = Vec::with_capacity(dims.len());
        if let Some((extent, stride)) = outer.last() {
            rows = (extent - rest % extent).min((range.end - first) / inner);
            push(&mut axes, rows, *stride, inner);
        }
        for (extent, stride) in outer.iter().rev() {
            origin += (rest % extent * stride) as usize;
            rest /= extent;
        }
        let mut step = inner;
        for (extent, stride) in dims.iter().skip(outer.len()) {
            step /= extent;
            push(&mut axes, *extent, *stride, step);
        }
        let count = (rows * inner) as usize;
        let (head, tail) = std::mem::take(&mut result).split_at_mut_checked(count)?;
        copy(&axes, source.get(origin..)?, head)?;
        result = tail;
        at += count;
        first += rows * inner;
    }
    assert_eq!(at as u64, range.end - range.start);
    Some(())
}

/// Adds an axis, or makes the last one longer where both are one run.
fn push(axes: &mut Vec<Axis>, extent: u64, from: u64, to: u64) {
    let next = Axis { extent: extent as usize, from: from as usize, to: to as usize };
    match axes.last_mut() {
        _ if extent == 1 => {}
        Some(last) if last.from == next.from * next.extent => {
            *last = Axis { extent: last.extent * next.extent, ..next };
        }
        _ => axes.push(next),
    }
}

/// Copies a box; `None` where an axis leads out of the source or the result.
fn copy<const N: usize>(axes: &[Axis], source: &[[u8; N]], out: &mut [[u8; N]]) -> Option<()> {
    let Some((last, outer)) = axes.split_last() else {
        *out.first_mut()? = *source.first()?;
        return Some(());
    };
    if last.from == 1 {
        return each(outer, 0, 0, &mut |from, to| {
            let run = source.get(from..from + last.extent)?;
            out.get_mut(to..to + last.extent)?.copy_from_slice(run);
            Some(())
        });
    }
    // Of the other axes, the one along which the source is dense.
    let near = outer.iter().enumerate().filter(|(_, axis)| axis.from > 0 && axis.from < last.from);
    let Some((index, near)) = near.min_by_key(|(_, axis)| axis.from).map(|(i, axis)| (i, *axis)) else {
        return each(outer, 0, 0, &mut |from, to| {
            for (i, place) in out.get_mut(to..to + last.extent)?.iter_mut().enumerate() {
                *place = *source.get(from + i * last.from)?;
            }
            Some(())
        });
    };
    let others: Vec<Axis> =
        outer.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, axis)| *axis).collect();
    each(&others, 0, 0, &mut |from, to| {
        for rows in (0..near.extent).step_by(TILE) {
            let rows = rows..near.extent.min(rows + TILE);
            for columns in (0..last.extent).step_by(TILE) {
                let columns = columns..last.extent.min(columns + TILE);
                for row in rows.clone() {
                    let to = to + row * near.to;
                    let from = from + row * near.from;
                    let places = out.get_mut(to + columns.start..to + columns.end)?;
                    for (place, column) in places.iter_mut().zip(columns.clone()) {
                        *place = *source.get(from + column * last.from)?;
                    }
                }
            }
        }
        Some(())
    })
}

/// Visits every position of `axes`, the last one fastest, until a visit fails.
fn each(
    axes: &[Axis],
    from: usize,
    to: usize,
    visit: &mut impl FnMut(usize, usize) -> Option<()>,
) -> Option<()> {
    match axes.split_first() {
        None => visit(from, to),
        Some((axis, inner)) => {
            (0..axis.extent).try_for_each(|i| each(inner, from + i * axis.from, to + i * axis.to, visit))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::boxes;

    #[test]
    fn a_view_that_leads_out_of_its_source_is_no_panic() {
        let source: Vec<u8> = (0..8).collect();
        let mut out = [0; 8];
        assert_eq!(boxes::<1>(&[2, 4], &[1, 2], 0..8, &source, &mut out), Some(()));
        assert_eq!(out, [0, 2, 4, 6, 1, 3, 5, 7]);
        for (shape, strides) in [([2, 4], [2, 2]), ([2, 4], [8, 1]), ([2, 4], [5, 1])] {
            assert_eq!(boxes::<1>(&shape, &strides, 0..8, &source, &mut out), None);
        }
        assert_eq!(boxes::<1>(&[8], &[1], 0..8, &source, &mut [0; 7]), None);
    }
}
