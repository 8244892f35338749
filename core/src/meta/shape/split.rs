//! Shapes of operators that split an axis into a list of parts.

use super::{Cx, Extent, Meta, Stop, contradiction, extent_of, slice, with};
use crate::sym::Dim;

/// Returns the shape, the axis in the term's argument `dim`, and its size. Without one, it is the second
/// axis, or the only one.
fn cut<'a>(cx: &Cx<'a>, dim: usize) -> Meta<(&'a [Dim], usize, Dim)> {
    let shape = &cx.operand(0)?.shape;
    let axis = match cx.name(dim) {
        "" => shape.len().saturating_sub(1).min(1),
        _ => cx.axis(dim, shape.len())?,
    };
    Ok((shape, axis, extent_of(shape, axis)))
}

fn parts(shape: &[Dim], axis: usize, lengths: impl IntoIterator<Item = i64>) -> Vec<Vec<Extent>> {
    lengths.into_iter().map(|n| with(shape, axis, Extent::Traced(n))).collect()
}

/// The limit on parts: a program states every one.
const MOST: i64 = 1 << 16;

/// Parts of `size` elements; the last has the remainder.
fn even(extent: i64, size: i64) -> Meta<Vec<i64>> {
    match (extent, size) {
        (0, _) => Ok(vec![0]),
        (_, 1..) => {
            let (whole, rest) =
                extent.checked_div(size).zip(extent.checked_rem(size)).ok_or(Stop::Unknown)?;
            if whole >= MOST {
                return Err(Stop::Unknown);
            }
            Ok((0..whole).map(|_| size).chain((rest != 0).then_some(rest)).collect())
        }
        _ => contradiction(format!("{extent} elements are split into parts of {size}")),
    }
}

/// `split(size, dim)`.
pub(super) fn split(cx: &mut Cx<'_>) -> Meta<Vec<Vec<Extent>>> {
    let (shape, axis, extent) = cut(cx, 1)?;
    let (extent, size) = (cx.judge.traced(extent).ok_or(Stop::Unknown)?, cx.int(0)?);
    Ok(parts(shape, axis, even(extent, size)?))
}

/// `split_sizes(sizes, dim)`: the sizes fill the axis.
pub(super) fn sizes(cx: &mut Cx<'_>) -> Meta<Vec<Vec<Extent>>> {
    let (shape, axis, extent) = cut(cx, 1)?;
    let sizes = cx.dims(0)?;
    let total = sizes.iter().fold(Dim::Const(0), |sum, size| cx.judge.symbols.add(sum, *size));
    cx.agree(extent, total, "an axis and the sum of its parts")?;
    Ok(sizes.into_iter().map(|size| with(shape, axis, Extent::Dim(size))).collect())
}

/// Returns the larger size of `count` parts that are as even as possible.
fn larger(extent: i64, count: i64) -> Option<i64> {
    extent.checked_div(count)?.checked_add(i64::from(extent.checked_rem(count)? != 0))
}

/// `chunk(chunks, dim)`: at most this many parts, as even as `split` makes them.
pub(super) fn chunk(cx: &mut Cx<'_>) -> Meta<Vec<Vec<Extent>>> {
    let (shape, axis, extent) = cut(cx, 1)?;
    let (extent, chunks) = (cx.judge.traced(extent).ok_or(Stop::Unknown)?, cx.int(0)?);
    match chunks {
        1..MOST if extent == 0 => Ok(parts(shape, axis, (0..chunks).map(|_| 0))),
        1..MOST => Ok(parts(shape, axis, even(extent, larger(extent, chunks).ok_or(Stop::Unknown)?)?)),
        MOST.. => Err(Stop::Unknown),
        _ => contradiction(format!("it makes {chunks} parts")),
    }
}

/// `sections(sections, dim)`: exactly this many parts, the first ones larger.
pub(super) fn sections(cx: &mut Cx<'_>) -> Meta<Vec<Vec<Extent>>> {
    let (shape, axis, extent) = cut(cx, 1)?;
    let (extent, sections) = (cx.judge.traced(extent).ok_or(Stop::Unknown)?, cx.int(0)?);
    match sections {
        1..MOST => {
            let (whole, rest) =
                extent.checked_div(sections).zip(extent.checked_rem(sections)).ok_or(Stop::Unknown)?;
            let size = |i| whole.saturating_add(i64::from(i < rest));
            Ok(parts(shape, axis, (0..sections).map(size)))
        }
        MOST.. => Err(Stop::Unknown),
        _ => contradiction(format!("it makes {sections} parts")),
    }
}

/// `split_at(indices, dim)`: each part is a slice between two indices.
pub(super) fn at(cx: &mut Cx<'_>) -> Meta<Vec<Vec<Extent>>> {
    let (shape, axis, extent) = cut(cx, 1)?;
    let extent = cx.judge.traced(extent).ok_or(Stop::Unknown)?;
    let places = cx.dims(0)?.into_iter().map(|d| cx.judge.traced(d).ok_or(Stop::Unknown));
    let places: Vec<i64> = places.collect::<Meta<_>>()?;
    let starts = std::iter::once(0).chain(places.iter().copied());
    let ends = places.iter().copied().chain([i64::MAX]);
    let lengths = starts.zip(ends).filter_map(|(start, end)| slice::count(extent, start, end, 1));
    Ok(parts(shape, axis, lengths))
}

/// `unbind(dim)`: a part for each index, without the axis.
pub(super) fn unbind(cx: &mut Cx<'_>) -> Meta<Vec<Vec<Extent>>> {
    let (shape, axis, extent) = cut(cx, 0)?;
    let count = cx.judge.traced(extent).filter(|n| (0..MOST).contains(n)).ok_or(Stop::Unknown)?;
    let mut rest = super::extents(shape);
    if axis < rest.len() {
        rest.remove(axis);
    }
    Ok((0..count).map(|_| rest.clone()).collect())
}
