//! Shapes of operators that change, remove or add single axes.

use super::{Cx, Extent, Meta, Stop, contradiction, conv, extent, extent_of, extents, slice, traced, with};
use crate::program::Arg;
use crate::sym::Dim;

/// `with(x, axis, extent)`: another size along an axis; without an axis, a vector of this size.
pub(super) fn replaced(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.tensor(0)?.shape;
    let extent = extent(cx, 2)?;
    if cx.is_none(1) {
        return Ok(vec![extent]);
    }
    let axis = cx.axis(1, shape.len())?;
    Ok(with(shape, axis, extent))
}

/// The shape without its last `count` axes.
fn without_last(shape: &[Dim], count: usize) -> Meta<&[Dim]> {
    match shape.len().checked_sub(count) {
        Some(kept) => Ok(shape.get(..kept).unwrap_or_default()),
        None => contradiction(format!("a tensor of rank {} has no {count} last axes", shape.len())),
    }
}

/// `drop(x, n)`: without the last `n` axes.
pub(super) fn dropped(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let count = usize::try_from(cx.int(1)?).map_err(|_| Stop::Unknown)?;
    Ok(extents(without_last(&cx.tensor(0)?.shape, count)?))
}

/// `recurrent(x, hidden, bidirectional)`: the features of `x` become those of the hidden state, of both directions.
pub(super) fn recurrent(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.tensor(0)?.shape;
    let hidden = cx.tensors(1)?;
    let features = hidden.first().and_then(|ty| ty.shape.last()).copied().ok_or(Stop::Unknown)?;
    let directions = Dim::Const(if cx.flag(2) { 2 } else { 1 });
    let features = cx.judge.symbols.mul(features, directions);
    Ok(with(shape, shape.len().saturating_sub(1), Extent::Dim(features)))
}

/// `bits(dtype)`: the last axis has as many bytes as before.
pub(super) fn bits(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let ty = cx.operand(0)?;
    let Arg::DType(dtype) = *cx.arg(0)?.as_ref() else { return Err(Stop::Unknown) };
    let (before, after) = (i64::from(ty.dtype.bits()), i64::from(dtype.bits()));
    if before == after {
        return Ok(extents(&ty.shape));
    }
    let Some(last) = ty.shape.len().checked_sub(1) else {
        return contradiction("a scalar has another size in memory");
    };
    let extent =
        traced(cx.judge, [extent_of(&ty.shape, last)], |[n]| n.checked_mul(before)?.checked_div(after));
    Ok(with(&ty.shape, last, extent))
}

/// `vander(x, n)`: a row of powers for each element, as many as elements unless `n` is given.
pub(super) fn vander(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.tensor(0)?.shape;
    // A scalar is a vector of one.
    let one = [Dim::Const(1)];
    let shape = if shape.is_empty() { &one[..] } else { shape };
    let last = shape.last().copied().ok_or(Stop::Unknown)?;
    let powers = if cx.is_none(1) { last } else { cx.dim(1)? };
    Ok(extents(shape).into_iter().chain([Extent::Dim(powers)]).collect())
}

/// `rot90(k, dims)`: an odd number of quarter turns swaps two axes.
pub(super) fn rot90(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let (turns, axes) = (cx.int(0)?, cx.axes(1, shape.len())?);
    let mut result = extents(shape);
    if let ([a, b], 1) = (axes.as_slice(), turns.rem_euclid(2))
        && (*a).max(*b) < result.len()
    {
        result.swap(*a, *b);
    }
    Ok(result)
}

/// The product of the sizes of a window along both axes, at the traced sizes.
fn area(cx: &Cx<'_>, i: usize) -> Meta<i64> {
    let sides = cx.spread(i, 2)?;
    let area = sides.iter().try_fold(1i64, |area, side| area.checked_mul(cx.judge.traced(*side)?));
    area.ok_or(Stop::Unknown)
}

/// `im2col(kernel, dilation, padding, stride)`: the elements of each window are a column.
pub(super) fn im2col(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let [batch @ .., channels, height, width] = shape.as_slice() else {
        return contradiction(format!("a tensor of rank {} is not an image", shape.len()));
    };
    if batch.len() > 1 {
        return contradiction(format!("a tensor of rank {} is not an image", shape.len()));
    }
    let columns = conv::windows_of(cx, [*height, *width])?;
    let rows = Dim::Const(area(cx, 0)?);
    let rows = cx.judge.symbols.mul(*channels, rows);
    Ok(extents(batch).into_iter().chain([Extent::Dim(rows), columns]).collect())
}

/// `col2im(size, kernel)`: the inverse of `im2col`.
pub(super) fn col2im(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let [batch @ .., rows, _] = shape.as_slice() else {
        return contradiction(format!("a tensor of rank {} has no columns", shape.len()));
    };
    let area = area(cx, 1)?;
    let channels = traced(cx.judge, [*rows], |[n]| n.checked_div(area));
    let size = cx.spread(0, 2)?;
    Ok(extents(batch).into_iter().chain([channels]).chain(extents(&size)).collect())
}

/// `stft(n_fft, onesided, return_complex)`: frequencies and frames; real and imaginary parts are a last axis.
pub(super) fn stft(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let ty = cx.operand(0)?;
    let real = cx.named("window").map_or(true, |window| !window.dtype.is_complex()) && !ty.dtype.is_complex();
    let half = if cx.is_none(1) { real } else { cx.flag(1) };
    let parts = match cx.arg(2)?.as_ref() {
        Arg::Bool(complex) => !complex,
        _ => return Err(Stop::Unknown),
    };
    let frequencies =
        traced(cx.judge, [cx.dim(0)?], |[n]| if half { n.checked_div(2)?.checked_add(1) } else { Some(n) });
    let mut result = extents(without_last(&ty.shape, 1)?);
    result.extend([frequencies, Extent::Unknown]);
    result.extend(parts.then_some(Extent::Dim(Dim::Const(2))));
    Ok(result)
}

/// `istft(length)`: a signal of complex frequencies and frames.
pub(super) fn istft(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let ty = cx.operand(0)?;
    if !ty.dtype.is_complex() {
        return Err(Stop::Unknown);
    }
    let length = extent(cx, 0)?;
    Ok(extents(without_last(&ty.shape, 2)?).into_iter().chain([length]).collect())
}

/// `diag(offset, 0, 1)`: the diagonal of a matrix, or the matrix of a diagonal.
pub(super) fn diag(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    match cx.operand(0)?.shape.as_slice() {
        [n] => {
            let side = longer(cx, *n, 0)?;
            Ok(extents(&[side, side]))
        }
        _ => slice::diagonal(cx),
    }
}

/// Returns `dim` plus the magnitude of the offset of a diagonal.
fn longer(cx: &mut Cx<'_>, dim: Dim, offset: usize) -> Meta<Dim> {
    let offset = cx.int(offset)?.checked_abs().ok_or(Stop::Unknown)?;
    Ok(cx.judge.symbols.add(dim, Dim::Const(offset)))
}

/// `diagflat(offset)`: the matrix with all elements on a diagonal.
pub(super) fn diagflat(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let count = cx.judge.symbols.product(shape.iter().copied());
    let side = longer(cx, count, 0)?;
    Ok(extents(&[side, side]))
}

/// `diag_embed(offset, dim1, dim2)`: the last axis becomes the diagonal of two axes.
pub(super) fn diag_embed(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let [rest @ .., last] = shape.as_slice() else { return contradiction("a scalar has no diagonal") };
    let rank = shape.len().saturating_add(1);
    let (down, right) = (cx.axis(1, rank)?, cx.axis(2, rank)?);
    let side = longer(cx, *last, 0)?;
    let mut rest = rest.iter();
    let at = |axis| if axis == down || axis == right { Some(side) } else { rest.next().copied() };
    let all: Option<Vec<Dim>> = (0..rank).map(at).collect();
    Ok(extents(&all.ok_or(Stop::Unknown)?))
}

/// `sampled(input, grid)`: channels of the input at each position of the grid.
pub(super) fn sampled(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (input, grid) = (&cx.tensor(0)?.shape, &cx.tensor(1)?.shape);
    let head = input.get(..2).ok_or(Stop::Unknown)?;
    let spatial = without_last(grid, 1)?.get(1..).ok_or(Stop::Unknown)?;
    Ok(extents(head).into_iter().chain(extents(spatial)).collect())
}

/// `grid(size, theta)`: a position for each element of an image of this size, with a coordinate for each spatial axis.
/// `theta` holds a matrix for each image.
pub(super) fn grid(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let size = cx.dims(0)?;
    let [batch, _, spatial @ ..] = size.as_slice() else { return Err(Stop::Unknown) };
    let coordinates = Dim::Const(spatial.len() as i64);
    let theta = &cx.tensor(1)?.shape;
    let [images, rows, columns] = theta.as_slice() else {
        return contradiction(format!("its matrices have rank {}", theta.len()));
    };
    cx.agree(*batch, *images, "the numbers of images and of matrices")?;
    cx.agree(coordinates, *rows, "the numbers of spatial axes and of rows")?;
    let width = cx.judge.symbols.add(coordinates, Dim::Const(1));
    cx.agree(width, *columns, "the widths of matrices")?;
    let all: Vec<Dim> = std::iter::once(*batch).chain(spatial.iter().copied()).chain([coordinates]).collect();
    Ok(extents(&all))
}
