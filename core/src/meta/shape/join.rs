//! Shapes of operators of several tensors whose sizes must agree.

use super::{Cx, Extent, Meta, Stop, contradiction, extents};
use crate::sym::Dim;

/// `broadcast(a, b, …)`: aligned at the last axis, a size of 1 gives way.
pub(super) fn broadcast(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let mut shapes = Vec::new();
    for i in 0..cx.term.len() {
        if !cx.is_none(i) {
            match cx.tensor(i) {
                Ok(ty) => shapes.push(ty.shape.clone()),
                Err(_) if cx.is_number(i) => {}
                Err(stop) => return Err(stop),
            }
        }
    }
    let shapes: Vec<&[Dim]> = shapes.iter().map(Vec::as_slice).collect();
    Ok(extents(&of_all(cx, &shapes)?))
}

/// Returns the shape that all of `shapes` broadcast to.
pub(super) fn of_all(cx: &mut Cx<'_>, shapes: &[&[Dim]]) -> Meta<Vec<Dim>> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut result = vec![Dim::Const(1); rank];
    for shape in shapes {
        for (place, dim) in result.iter_mut().rev().zip(shape.iter().rev()) {
            *place = wider(cx, *place, *dim)?;
        }
    }
    Ok(result)
}

/// Returns the size that all of `dims` broadcast to.
pub(super) fn widest(cx: &mut Cx<'_>, dims: &[Dim]) -> Meta<Dim> {
    dims.iter().try_fold(Dim::Const(1), |widest, dim| wider(cx, widest, *dim))
}

fn wider(cx: &mut Cx<'_>, a: Dim, b: Dim) -> Meta<Dim> {
    let one = Dim::Const(1);
    if a == b || b == one {
        return Ok(a);
    }
    if a == one {
        return Ok(b);
    }
    match (cx.judge.traced(a), cx.judge.traced(b)) {
        (Some(1), _) => return Ok(b),
        (_, Some(1)) => return Ok(a),
        (Some(_), Some(_)) => cx.agree(a, b, "sizes that broadcast")?,
        // A size that is known only at run time may be 1 then.
        _ => return Err(Stop::Unknown),
    }
    Ok(if a.as_const().is_some() { a } else { b })
}

/// `cat(tensors, dim)`.
pub(super) fn cat(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let tensors = cx.tensors(0)?;
    // A vector without elements joins anything.
    let known_rank = tensors.iter().map(|t| t.shape.len()).max().unwrap_or(0);
    if tensors.iter().any(|t| t.shape.len() == 1 && known_rank > 1 && t.shape.first() != Some(&Dim::Const(0)))
    {
        return Err(Stop::Unknown);
    }
    let parts = tensors.iter().map(|t| t.shape.clone()).filter(|s| !(s.len() == 1 && known_rank > 1));
    let parts: Vec<Vec<Dim>> = parts.collect();
    let axis = cx.axis(1, parts.first().ok_or(Stop::Unknown)?.len())?;
    joined(cx, parts, axis)
}

/// Returns the shape of `parts` joined along `axis`; their other sizes must agree.
pub(super) fn joined(cx: &mut Cx<'_>, parts: Vec<Vec<Dim>>, axis: usize) -> Meta<Vec<Extent>> {
    let mut parts = parts.into_iter();
    let mut total = parts.next().ok_or(Stop::Unknown)?;
    for part in parts {
        if part.len() != total.len() {
            return contradiction(format!("it joins tensors of {} and {} axes", total.len(), part.len()));
        }
        for (i, (sum, dim)) in total.iter_mut().zip(part).enumerate() {
            if i == axis {
                *sum = cx.judge.symbols.add(*sum, dim);
            } else {
                cx.agree(*sum, dim, "sizes of tensors that are joined along another axis")?;
            }
        }
    }
    Ok(extents(&total))
}

/// `stack(tensors, dim)`.
pub(super) fn stack(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let tensors = cx.tensors(0)?;
    let first = &tensors.first().ok_or(Stop::Unknown)?.shape;
    for other in tensors.iter().skip(1) {
        if other.shape.len() != first.len() {
            return contradiction("it stacks tensors of different ranks");
        }
        for (a, b) in first.iter().zip(&other.shape) {
            cx.agree(*a, *b, "sizes of tensors that are stacked")?;
        }
    }
    let axis = cx.axis(1, first.len().saturating_add(1))?;
    let mut shape = extents(first);
    shape.insert(axis.min(shape.len()), Extent::Dim(Dim::Const(tensors.len() as i64)));
    Ok(shape)
}
