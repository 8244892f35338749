//! Shapes of reductions, and of other operators that change one axis.

use super::{Cx, Extent, Meta, Stop, contradiction, extents, join, traced, with};
use crate::sym::Dim;

/// `reduce(dim, keepdim)`: the axes go, or keep a size of 1; no axes means all of them.
pub(super) fn reduce(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    reduced(cx, shape)
}

/// `reduce_of(dim, keepdim, a, b, …)`: the same for the shape that the operands broadcast to.
pub(super) fn of_operands(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shapes: Vec<&[Dim]> =
        (2..cx.term.len()).map(|i| Ok(cx.tensor(i)?.shape.as_slice())).collect::<Meta<_>>()?;
    let shape = join::of_all(cx, &shapes)?;
    reduced(cx, &shape)
}

fn reduced(cx: &Cx<'_>, shape: &[Dim]) -> Meta<Vec<Extent>> {
    let axes = if cx.is_none(0) { (0..shape.len()).collect() } else { cx.axes(0, shape.len())? };
    // The meaning of an empty list depends on the operator.
    if axes.is_empty() && !cx.is_none(0) {
        return Err(Stop::Unknown);
    }
    let keep = cx.flag(1);
    let one = Extent::Dim(Dim::Const(1));
    let kept = extents(shape).into_iter().enumerate();
    Ok(kept
        .filter_map(|(i, extent)| match (axes.contains(&i), keep) {
            (false, _) => Some(extent),
            (true, true) => Some(one),
            (true, false) => None,
        })
        .collect())
}

/// `topk(k, dim)`.
pub(super) fn top(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let (k, axis) = (cx.dim(0)?, cx.axis(1, shape.len())?);
    if let (Dim::Const(k), Some(Dim::Const(extent))) = (k, shape.get(axis))
        && k > *extent
    {
        return contradiction(format!("{k} elements are out of range for an axis of size {extent}"));
    }
    Ok(with(shape, axis, Extent::Dim(k)))
}

/// `glu(dim)`: half of an axis.
pub(super) fn glu(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let axis = cx.axis(0, shape.len())?;
    let extent = super::extent_of(shape, axis);
    if let Some(odd) = cx.judge.traced(extent).filter(|n| n % 2 != 0) {
        return contradiction(format!("an axis of {odd} has no halves"));
    }
    let half = traced(cx.judge, [extent], |[n]| Some(n / 2));
    Ok(with(shape, axis, half))
}
