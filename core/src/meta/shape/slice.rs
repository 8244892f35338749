//! Shapes of slices and lookups.

use super::{Cx, Extent, Meta, Stop, contradiction, extent_of, extents, join, traced, with};
use crate::sym::Dim;
use crate::tensor::DType;

/// `select(dim, index)`: removes the axis.
pub(super) fn select(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let axis = cx.axis(0, shape.len())?;
    if let (Ok(Dim::Const(index)), Some(Dim::Const(extent))) = (cx.dim(1), shape.get(axis))
        && !(0..*extent).contains(&if index < 0 { index.saturating_add(*extent) } else { index })
    {
        return contradiction(format!("index {index} is out of range for an axis of size {extent}"));
    }
    let mut kept = extents(shape);
    if axis < kept.len() {
        kept.remove(axis);
    }
    Ok(kept)
}

/// Returns the number of elements of `start..end` in steps along an axis, by Python's rules.
pub(super) fn count(extent: i64, start: i64, end: i64, step: i64) -> Option<i64> {
    let clamp = |n: i64| if n < 0 { n.saturating_add(extent) } else { n }.clamp(0, extent.max(0));
    let length = clamp(end).saturating_sub(clamp(start)).max(0);
    let rest = length.checked_rem(step).filter(|_| step > 0)?;
    length.checked_div(step)?.checked_add(i64::from(rest != 0))
}

/// `slice(dim, start, end, step)`.
pub(super) fn slice(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let axis = cx.axis(0, shape.len())?;
    let extent = extent_of(shape, axis);
    let (start, end, step) = (cx.int_or(1, 0), cx.int_or(2, i64::MAX), cx.int_or(3, 1));
    let length = match (start, end, step) {
        (Ok(0), Ok(i64::MAX), Ok(1)) => Extent::Dim(extent),
        (Ok(start), Ok(end), Ok(step)) => traced(cx.judge, [extent], |[n]| count(n, start, end, step)),
        _ => Extent::Unknown,
    };
    Ok(with(shape, axis, length))
}

/// `slice_backward(sizes, dim, part)`: the whole from which a part was sliced.
pub(super) fn slice_backward(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (sizes, part) = (cx.dims(0)?, &cx.tensor(2)?.shape);
    let axis = cx.axis(1, sizes.len())?;
    whole(cx, &sizes, axis, part)
}

/// `select_backward(sizes, dim, part)`: the whole from which a part was selected.
pub(super) fn select_backward(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (sizes, mut part) = (cx.dims(0)?, cx.tensor(2)?.shape.clone());
    let axis = cx.axis(1, sizes.len())?;
    if axis <= part.len() {
        part.insert(axis, Dim::Const(1));
    }
    whole(cx, &sizes, axis, &part)
}

/// Returns `sizes`, which agree with those of a part except along `axis`.
fn whole(cx: &mut Cx<'_>, sizes: &[Dim], axis: usize, part: &[Dim]) -> Meta<Vec<Extent>> {
    if sizes.len() != part.len() {
        return contradiction(format!("a part of rank {} of a tensor of rank {}", part.len(), sizes.len()));
    }
    for (at, (a, b)) in sizes.iter().zip(part).enumerate() {
        if at != axis {
            cx.agree(*a, *b, "sizes of a tensor and its part")?;
        }
    }
    Ok(extents(sizes))
}

/// `narrow(dim, length)`.
pub(super) fn narrow(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let axis = cx.axis(0, shape.len())?;
    let length = cx.dim(1)?;
    if let (Dim::Const(length), Some(Dim::Const(extent))) = (length, shape.get(axis))
        && length > *extent
    {
        return contradiction(format!("{length} elements are out of range for an axis of size {extent}"));
    }
    Ok(with(shape, axis, Extent::Dim(length)))
}

/// `diagonal(offset, dim1, dim2)`: removes two axes, and appends their diagonal.
pub(super) fn diagonal(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let (offset, down, right) = (cx.int(0)?, cx.axis(1, shape.len())?, cx.axis(2, shape.len())?);
    if down == right {
        return contradiction("both axes of the diagonal are the same");
    }
    let sides = [extent_of(shape, down), extent_of(shape, right)];
    let length = traced(cx.judge, sides, |[rows, columns]| {
        let (rows, columns) = if offset < 0 {
            (rows.checked_add(offset)?, columns)
        } else {
            (rows, columns.checked_sub(offset)?)
        };
        Some(rows.min(columns).max(0))
    });
    // Without traced sizes, only for a diagonal with offset 0.
    let length = match length {
        Extent::Unknown if offset == 0 => Extent::Dim(cx.judge.symbols.min(sides[0], sides[1])),
        known => known,
    };
    let rest = extents(shape).into_iter().enumerate().filter(|(i, _)| *i != down && *i != right);
    Ok(rest.map(|(_, extent)| extent).chain([length]).collect())
}

/// `windows(dim, size, step)`: the axis counts windows, and their elements are the last axis.
pub(super) fn windows(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let (axis, size, step) = (cx.axis(0, shape.len())?, cx.int(1)?, cx.int(2)?);
    if shape.is_empty() {
        return Ok(vec![Extent::Dim(Dim::Const(size))]);
    }
    let windows = traced(cx.judge, [extent_of(shape, axis)], |[n]| {
        n.checked_sub(size)?.checked_div_euclid(step)?.checked_add(1)
    });
    let mut result = with(shape, axis, windows);
    result.push(Extent::Dim(Dim::Const(size)));
    Ok(result)
}

/// `embedding(weight, indices)`: a row of the table for each index.
pub(super) fn embedding(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (table, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    match table.shape.as_slice() {
        [_, width] => Ok(extents(&indices.shape).into_iter().chain([Extent::Dim(*width)]).collect()),
        other => contradiction(format!("its table has {} axes", other.len())),
    }
}

/// `index_select(dim, index)`.
pub(super) fn index_select(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (shape, index) = (&cx.operand(0)?.shape, &cx.tensor(1)?.shape);
    let axis = cx.axis(0, shape.len())?;
    match index.as_slice() {
        [] => Ok(with(shape, axis, Extent::Dim(Dim::Const(1)))),
        [count] => Ok(with(shape, axis, Extent::Dim(*count))),
        other => contradiction(format!("its index has {} axes", other.len())),
    }
}

/// `index(x, indices)`: the axes that have indices give way to the shape that the indices broadcast to. It comes first if
/// other axes lie between them. The number of elements that a mask selects depends on the data.
pub(super) fn index(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.tensor(0)?.shape;
    let indices = cx.optional_tensors(1)?;
    if indices.iter().flatten().any(|index| matches!(index.dtype, DType::Bool | DType::U8)) {
        return Err(Stop::Unknown);
    }
    if indices.len() > shape.len() {
        return contradiction(format!("{} indices for a tensor of rank {}", indices.len(), shape.len()));
    }
    let is_indexed = |axis: usize| indices.get(axis).is_some_and(Option::is_some);
    let indexed: Vec<usize> = (0..shape.len()).filter(|axis| is_indexed(*axis)).collect();
    let (Some(first), Some(last)) = (indexed.first(), indexed.last()) else { return Ok(extents(shape)) };
    let places: Vec<&[Dim]> = indices.iter().flatten().map(|index| index.shape.as_slice()).collect();
    let places = extents(&join::of_all(cx, &places)?);
    let is_apart = (*first..=*last).any(|axis| !is_indexed(axis));
    let at = if is_apart { 0 } else { *first };
    let kept = shape.iter().enumerate().filter(|(axis, _)| !is_indexed(*axis));
    let mut result: Vec<Extent> = kept.map(|(_, dim)| Extent::Dim(*dim)).collect();
    result.splice(at..at, places);
    Ok(result)
}

/// `one_hot(classes)`: -1 depends on the data.
pub(super) fn one_hot(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let mut shape = extents(&cx.operand(0)?.shape);
    shape.push(match cx.dim(0)? {
        Dim::Const(-1) => Extent::Unknown,
        classes => Extent::Dim(classes),
    });
    Ok(shape)
}
