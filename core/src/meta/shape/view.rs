//! Shapes of views of all elements.

use super::{Cx, Extent, Meta, Stop, contradiction, extents};
use crate::sym::Dim;

/// `expand(size)`: -1 keeps a size.
pub(super) fn expand(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let mut size = cx.dims(0)?;
    let Some(added) = size.len().checked_sub(shape.len()) else {
        return contradiction(format!("{} axes are expanded to {}", shape.len(), size.len()));
    };
    for (wanted, dim) in size.iter_mut().skip(added).zip(shape) {
        if *wanted == Dim::Const(-1) {
            *wanted = *dim;
        } else if cx.judge.traced(*dim) != Some(1) {
            cx.agree(*dim, *wanted, "a dimension and its expanded size")?;
        }
    }
    if size.iter().take(added).any(|d| *d == Dim::Const(-1)) {
        return contradiction("a new axis is expanded to -1");
    }
    Ok(extents(&size))
}

/// `broadcast_in_dim(shape, axes)`: each axis of the argument becomes one of the result, in which a size of 1 is
/// repeated.
pub(super) fn broadcast_in_dim(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (given, shape) = (&cx.operand(0)?.shape, cx.dims(0)?);
    let axes = cx.axes(1, shape.len())?;
    if axes.len() != given.len() {
        return contradiction(format!("{} axes are given for rank {}", axes.len(), given.len()));
    }
    for (dim, axis) in given.iter().zip(axes) {
        if cx.judge.traced(*dim) != Some(1) {
            cx.agree(*dim, super::extent_of(&shape, axis), "a dimension and its expanded size")?;
        }
    }
    Ok(extents(&shape))
}

/// Returns `sizes`, with one -1 replaced by the quotient of `count` and the others.
fn resolve(cx: &mut Cx<'_>, sizes: &[Dim], count: Dim) -> Meta<Vec<Extent>> {
    let free = sizes.iter().filter(|d| **d == Dim::Const(-1)).count();
    let given = cx.judge.symbols.product(sizes.iter().copied().filter(|d| *d != Dim::Const(-1)));
    if free > 1 {
        return contradiction("two dimensions are -1");
    }
    if free == 0 {
        cx.agree(count, given, "the numbers of elements before and after")?;
        return Ok(extents(sizes));
    }
    let (count_at, given_at) = (cx.judge.traced(count), cx.judge.traced(given));
    if let (Some(count), Some(given)) = (count_at, given_at)
        && (given == 0 && count != 0 || count.checked_rem(given).is_some_and(|rest| rest != 0))
    {
        return contradiction(format!("{count} elements do not fill rows of {given}"));
    }
    let rest = match given_at {
        Some(0) => Extent::Unknown,
        _ => Extent::Dim(cx.judge.symbols.floor_div(count, given)),
    };
    Ok(sizes.iter().map(|d| if *d == Dim::Const(-1) { rest } else { Extent::Dim(*d) }).collect())
}

/// `reshape(size)`.
pub(super) fn reshape(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (shape, sizes) = (&cx.operand(0)?.shape, cx.dims(0)?);
    let count = cx.judge.symbols.product(shape.iter().copied());
    resolve(cx, &sizes, count)
}

/// `flatten(start, end)`: the axes from the first to the last become one.
pub(super) fn flatten(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let (start, end) = (cx.axis(0, shape.len())?, cx.axis(1, shape.len())?);
    if start > end {
        return contradiction("its first axis is after its last");
    }
    let behind = end.saturating_add(1);
    let (head, tail) = (shape.iter().take(start), shape.iter().skip(behind));
    let joined = shape.iter().take(behind).skip(start).copied();
    let joined = cx.judge.symbols.product(joined);
    let all: Vec<Dim> = head.copied().chain([joined]).chain(tail.copied()).collect();
    Ok(extents(&all))
}

/// `unflatten(dim, sizes)`.
pub(super) fn unflatten(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let (axis, sizes) = (cx.axis(0, shape.len())?, cx.dims(1)?);
    divided(cx, shape, axis, &sizes)
}

/// `split_dim(dim, outer)`: an axis becomes two.
pub(super) fn split_dim(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let (axis, outer) = (cx.axis(0, shape.len())?, cx.dim(1)?);
    divided(cx, shape, axis, &[outer, Dim::Const(-1)])
}

/// Returns the shape with an axis divided into axes of `sizes`.
fn divided(cx: &mut Cx<'_>, shape: &[Dim], axis: usize, sizes: &[Dim]) -> Meta<Vec<Extent>> {
    let parts = resolve(cx, sizes, super::extent_of(shape, axis))?;
    let mut result = extents(shape);
    let end = axis.saturating_add(1).min(result.len());
    result.splice(axis.min(end)..end, parts);
    Ok(result)
}

/// `squeeze`, `squeeze(dim)`: axes of size 1 go.
pub(super) fn squeeze(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let axes: Vec<usize> =
        if cx.term.is_empty() { (0..shape.len()).collect() } else { cx.axes(0, shape.len())? };
    let mut kept = Vec::with_capacity(shape.len());
    for (i, dim) in shape.iter().enumerate() {
        if axes.contains(&i) {
            match (dim.as_const(), cx.judge.traced(*dim)) {
                (Some(1), _) => continue,
                (None, None | Some(1)) => return Err(Stop::Unknown),
                _ => {}
            }
        }
        kept.push(Extent::Dim(*dim));
    }
    Ok(kept)
}

/// `unsqueeze(dim)`.
pub(super) fn unsqueeze(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let mut shape = extents(&cx.operand(0)?.shape);
    let axis = cx.axis(0, shape.len().saturating_add(1))?;
    shape.insert(axis.min(shape.len()), Extent::Dim(Dim::Const(1)));
    Ok(shape)
}

/// Returns the sizes in the order of `axes`, each of which must appear once.
fn ordered(shape: &[Dim], axes: &[usize]) -> Meta<Vec<Extent>> {
    let mut seen = vec![false; shape.len()];
    for axis in axes {
        if let Some(flag) = seen.get_mut(*axis) {
            *flag = true;
        }
    }
    if axes.len() != shape.len() || seen.contains(&false) {
        return contradiction(format!("{axes:?} is not a permutation of {} axes", shape.len()));
    }
    Ok(axes.iter().filter_map(|a| shape.get(*a)).map(|d| Extent::Dim(*d)).collect())
}

/// `permute(dims)`.
pub(super) fn permute(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    ordered(shape, &cx.axes(0, shape.len())?)
}

/// `swap(a, b)`; a tensor without the axes of a matrix stays as it is.
pub(super) fn swap(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let mut shape = extents(&cx.operand(0)?.shape);
    if shape.len() > 1 {
        let (a, b) = (cx.axis(0, shape.len())?, cx.axis(1, shape.len())?);
        shape.swap(a, b);
    }
    Ok(shape)
}

/// `move(source, destination)`.
pub(super) fn moved(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let (from, to) = (cx.axes(0, shape.len())?, cx.axes(1, shape.len())?);
    let mut rest = (0..shape.len()).filter(|a| !from.contains(a));
    let place = |i: usize, rest: &mut dyn Iterator<Item = usize>| match to.iter().position(|t| *t == i) {
        Some(at) => from.get(at).copied(),
        None => rest.next(),
    };
    let axes: Option<Vec<usize>> = (0..shape.len()).map(|i| place(i, &mut rest)).collect();
    ordered(shape, &axes.ok_or(Stop::Unknown)?)
}

/// `as_complex`: pairs of floats in the last axis.
pub(super) fn as_complex(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    match cx.operand(0)?.shape.as_slice() {
        [rest @ .., last] => {
            cx.agree(*last, Dim::Const(2), "the last axis and a pair")?;
            Ok(extents(rest))
        }
        [] => contradiction("it has no axis of pairs"),
    }
}
