//! Shapes of selections, repetitions and transforms along axes.

use super::{Cx, Extent, Meta, Stop, contradiction, extents, join, traced, with};
use crate::sym::Dim;
use crate::tensor::Kind;

/// `along(indices, dim)`: an element for each index. Without an axis, one of all elements in order.
pub(super) fn along(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (shape, indices) = (&cx.operand(0)?.shape, &cx.tensor(0)?.shape);
    if cx.is_none(1) {
        return Ok(vec![Extent::Dim(cx.judge.symbols.product(indices.iter().copied()))]);
    }
    if shape.len() != indices.len() {
        return contradiction(format!(
            "indices of rank {} for a tensor of rank {}",
            indices.len(),
            shape.len()
        ));
    }
    let axis = cx.axis(1, shape.len())?;
    // Along the axis the number of indices decides; the other axes broadcast.
    let mut other = shape.clone();
    if let (Some(extent), Some(count)) = (other.get_mut(axis), indices.get(axis)) {
        *extent = *count;
    }
    Ok(extents(&join::of_all(cx, &[&other, indices])?))
}

/// `interleave(repeats, dim, size)`: repeats each element; without an axis, all elements in order. If the repeats are
/// in a tensor, `size` is their sum.
pub(super) fn interleave(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let flat = [cx.judge.symbols.product(shape.iter().copied())];
    let shape = if cx.is_none(1) { &flat[..] } else { shape };
    let axis = if cx.is_none(1) { 0 } else { cx.axis(1, shape.len())? };
    let extent = match cx.dim(0) {
        Ok(repeats) => Extent::Dim(cx.judge.symbols.mul(super::extent_of(shape, axis), repeats)),
        Err(_) => cx.dim(2).map_or(Extent::Unknown, Extent::Dim),
    };
    Ok(with(shape, axis, extent))
}

/// `diff(x, n, dim, prepend, append)`: along the axis, `n` elements less than the tensors together have.
pub(super) fn diff(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.tensor(0)?.shape;
    let (n, axis) = (cx.dim(1)?, cx.axis(2, shape.len())?);
    let mut extent = super::extent_of(shape, axis);
    for i in [3, 4] {
        if cx.is_none(i) {
            continue;
        }
        let more = &cx.tensor(i)?.shape;
        if more.len() != shape.len() {
            return contradiction(format!("tensors of ranks {} and {}", shape.len(), more.len()));
        }
        for (other, (a, b)) in shape.iter().zip(more).enumerate() {
            if other != axis {
                cx.agree(*a, *b, "sizes of tensors that are joined along another axis")?;
            }
        }
        extent = cx.judge.symbols.add(extent, super::extent_of(more, axis));
    }
    let left = cx.judge.symbols.sub(extent, n);
    let left = cx.judge.symbols.max(left, Dim::Const(0));
    Ok(with(shape, axis, Extent::Dim(left)))
}

/// The effect of a Fourier transform on the last of its axes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spectrum {
    /// As many frequencies as values.
    Whole,
    /// The nonnegative frequencies of real values.
    Half,
    /// Real values, of such a half.
    Signal,
}

/// `fft(n, dim)`, `rfft(n, dim, half)`, `irfft(n, dim)`: transformed axes, of the lengths `n` if they are stated. The
/// spectrum is whole if the argument `half` is false.
pub(super) fn transform(cx: &mut Cx<'_>, of: Spectrum) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let lengths = if cx.is_none(0) { None } else { Some(cx.dims(0)?) };
    let axes = match &lengths {
        _ if !cx.is_none(1) => cx.axes(1, shape.len())?,
        // The last ones.
        Some(lengths) => (0..shape.len()).skip(shape.len().saturating_sub(lengths.len())).collect(),
        None => (0..shape.len()).collect(),
    };
    if lengths.as_ref().is_some_and(|lengths| lengths.len() != axes.len()) {
        return Err(Stop::Unknown);
    }
    let mut result = extents(shape);
    for (at, axis) in axes.iter().enumerate() {
        let stated = lengths.as_ref().and_then(|lengths| lengths.get(at)).filter(|n| **n != Dim::Const(-1));
        let is_last = axes.len().checked_sub(1) == Some(at);
        let length = stated.copied().unwrap_or_else(|| super::extent_of(shape, *axis));
        let extent = match of {
            Spectrum::Half if is_last && (cx.name(2).is_empty() || cx.flag(2)) => {
                traced(cx.judge, [length], |[n]| n.checked_div(2)?.checked_add(1))
            }
            Spectrum::Signal if is_last && stated.is_none() => {
                traced(cx.judge, [length], |[n]| n.checked_sub(1)?.checked_mul(2))
            }
            _ => Extent::Dim(length),
        };
        if let Some(slot) = result.get_mut(*axis) {
            *slot = extent;
        }
    }
    Ok(result)
}

/// `loss(reduction, a, b, …)`: a scalar, or without a reduction one number for each element.
pub(super) fn loss(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let reduces = cx.int(0)? != 0;
    let tensors: Meta<Vec<&[Dim]>> = (1..cx.term.len())
        .filter(|at| cx.name(*at) == "?" || !cx.is_none(*at))
        .map(|at| cx.tensor(at).map(|ty| ty.shape.as_slice()))
        .collect();
    match tensors.and_then(|tensors| join::of_all(cx, &tensors)) {
        Ok(_) | Err(Stop::Unknown) if reduces => Ok(Vec::new()),
        all => all.map(|all| extents(&all)),
    }
}

/// `class_loss(reduction, x, target)`: a scalar, or without a reduction one number for each target. Targets are indices of
/// classes, which `x` has along its second axis, or floating-point probabilities of all classes.
pub(super) fn class_loss(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let reduces = cx.int(0)? != 0;
    let (shape, target) = (&cx.tensor(1)?.shape, cx.tensor(2)?);
    let without_classes: Vec<Dim> = match shape.as_slice() {
        [] | [_] => Vec::new(),
        [batch, _, rest @ ..] => std::iter::once(*batch).chain(rest.iter().copied()).collect(),
    };
    let expected = match target.dtype.kind() {
        Kind::Float => shape,
        Kind::Int => &without_classes,
        _ => return contradiction(format!("its target is {}", target.dtype)),
    };
    // A single index may be a vector.
    let single = [Dim::Const(1)];
    let is_single = expected.is_empty() && target.shape.len() == 1;
    let expected = if is_single { &single[..] } else { expected };
    if expected.len() != target.shape.len() {
        return contradiction(format!(
            "its target has rank {} instead of {}",
            target.shape.len(),
            expected.len()
        ));
    }
    for (a, b) in expected.iter().zip(&target.shape) {
        cx.agree(*a, *b, "sizes of a prediction and its target")?;
    }
    match (reduces, target.dtype.kind()) {
        (true, _) => Ok(Vec::new()),
        (false, Kind::Int) => Ok(extents(&target.shape)),
        (false, _) => Ok(extents(&without_classes)),
    }
}
